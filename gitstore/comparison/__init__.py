"""The differences between two states: rules, files, their impact, and how people read them.

Start with `tree_changes` (from two trees to changes) and `project_changes` (all that differs in one project).
"""
