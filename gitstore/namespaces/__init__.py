"""Namespaces: creation, import of a folder, description and archive; checks of folders and bare repositories.

Begin with `namespaces`, then `creation`.
"""
