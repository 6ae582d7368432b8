"""What the service remembers outside Git: users, roles, tokens, sessions, agents and the audit trail, in SQL."""
