"""Commands on access: users, roles and tokens."""
