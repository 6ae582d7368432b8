"""Accounts and what proves them: users, roles, API tokens, sessions, failed attempts to log in.

Begin with `users`.
"""
