"""Checks of rules, one by one and together.

Begin with `record_rules` (one record) and `set_rules` (all rules of a project).
"""
