"""Indexes of what was published: manifests by commit, versions by number and SHA, changes of rules by publish.

Each is made again from Git if it is missing. Start with `manifest`, then `versions`.
"""
