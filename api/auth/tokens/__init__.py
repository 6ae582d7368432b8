"""API tokens: those of administrators, personal ones, and how one is found where it should not be.

Begin with `new_token`.
"""
