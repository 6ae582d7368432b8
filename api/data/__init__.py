"""The data directory of a service: its identity, its parts, and the detection of a lost one.

Begin with `served_data`.
"""
