"""Background services that keep repositories and records small and prepared.

Begin reading at `repository_upkeep`.
"""
