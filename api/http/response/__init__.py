"""Responses: JSON views, prepared replies for agents, compression and redaction.

Begin with `json_views` (for people) and `replies` (for agents).
"""
