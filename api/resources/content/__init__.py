"""Responders for content: namespaces, projects, drafts, publishes, reviews, import and export.

Begin with `draft_items` and `publishing`.
"""
