"""The publishes of a project: their numbers, the changes of each one, the history of a single rule, and clean-up.

Start with `history` (the list of publishes) and `numbering` (from commits to publish numbers).
"""
