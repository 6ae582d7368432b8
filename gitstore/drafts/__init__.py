"""The drafts of a project, its working branches: edits, lists, reverts, replacements and imports.

Begin with `drafts` (one commit on a draft) and `workspace` (edits to files).
"""
