"""Segments: all data that the product needs of one file, computed once for each blob, and the snapshots made of them.

Start with `segment`, then `snapshot`, which is one whole state of a project.
"""
