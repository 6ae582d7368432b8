"""The compiled form of published content: segments of files, releases of projects, their checks and tables.

Everything here is a cache that can be rebuilt from Git. Start with `compiler`, then `segment` and `release`.
"""
