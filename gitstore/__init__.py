"""Content in Git: bare repositories, drafts, publishing, history and compiled releases."""
