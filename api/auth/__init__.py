"""Callers and their permissions: passwords, tokens, keys, grants, and the in-memory cache that authenticates requests.

Begin with `principal` and `grants`, then `directory`.
"""
