"""Responders for agents: versions, lists, manifests and heartbeats; `compat` is for agents of an older service.

Begin with `published`.
"""
