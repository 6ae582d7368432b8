"""The three-way merge of a project by rule and by field, its conflicts and their resolution.

Begin with `draft_merge`, then `merging`; `resolving` applies the choices for conflicts.
"""
