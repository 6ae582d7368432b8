"""The checks of a whole state, before a publish and for lint, with the caches of their results.

Start with `checks`, then `lint`.
"""
