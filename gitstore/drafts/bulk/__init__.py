"""Changes of many rules of a draft at once: imports, search and replace, and fixes of findings."""
