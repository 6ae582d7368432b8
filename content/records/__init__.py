"""Records and their vocabulary: redirects, pages, names and problems.

Begin with `record`.
"""
