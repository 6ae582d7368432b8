"""Responders for accounts: login, users, tokens, roles and the audit trail.

Begin with `auth`.
"""
