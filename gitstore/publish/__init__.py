"""The release branch: checks and approval before it moves, the commit, and the rollback.

Begin with `publishing`; `advance` is the only function that moves release.
"""
