"""The states that workers serve to agents: published states in memory, and the waits for the next one.

Begin reading at `release_loader`.
"""
