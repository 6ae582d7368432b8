"""Proposals, the branches that people push: their outlines, their merge by rule, and their publish.

Begin with `proposal`; `publishing` merges a proposal into release.
"""
