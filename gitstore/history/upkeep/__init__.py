"""The upkeep of a namespace's files in the background: packing, folding, clean-up and preparation.

Start with `repository_upkeep`.
"""
