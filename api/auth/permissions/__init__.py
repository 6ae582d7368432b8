"""The permissions of callers: grants, roles, and what one may give to others.

Begin with `grants`, then `principal`.
"""
