"""Packs of a repository: reading, deltas, indexes, packing and the removal of what no ref reaches.

Begin reading at `stored_pack` for reading, and at `packing` for writing.
"""
