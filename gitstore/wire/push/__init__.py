"""Pushes: their request, the strict reading of the pack in quarantine, and the report. Nothing of it is trusted.

Begin reading at `pack_reader`; what a push may change is decided in `gitstore/pushes`.
"""
