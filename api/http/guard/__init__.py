"""Authentication and authorisation before every responder.

Responders declare their needs by the decorators of `access`; `guard` checks them.
"""
