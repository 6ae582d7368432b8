"""Logins by password and the sessions that they open: hashes, limits, keys, and the tokens of a session.

Begin with `login`.
"""
