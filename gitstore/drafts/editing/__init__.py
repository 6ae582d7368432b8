"""Edits of the rules of a draft, and the bytes of the files that they give."""
