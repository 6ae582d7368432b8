"""Differences between states, their merge by rule and field, and their impact.

Begin with `diff`, then `merge`.
"""
