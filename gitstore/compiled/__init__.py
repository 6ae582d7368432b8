"""The compiled form of published content: segments of files, releases of projects, their checks and indexes.

Everything here is a cache that can be rebuilt from Git. Start with `compiler`, then `segments` and `releases`.
"""
