"""The SQL database of everything but content: users, roles, tokens, sessions, agents, reviews, events, audit trail.

Mostly one module per table, each with functions on a connection. Begin with `database` (transactions) and `tables`; the
folders hold the tables of one subject each.
"""
