"""Releases: what agents read of a project, in one or two mapped files, and how each is made from the one before.

Start with `release`, then `release_changes`.
"""
