"""What the service remembers outside Git: users, roles, tokens, sessions, agents, reviews and the audit trail, in SQL."""
