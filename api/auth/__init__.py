"""Callers and their permissions: passwords, tokens, keys, grants, and the in-memory cache that authenticates requests.

Its rooms `tokens` and `logins` are above `permissions`, and below what uses them. Begin with `permissions.principal` and
`permissions.grants`, then `directory`.
"""
