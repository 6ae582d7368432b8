"""Agents and their reports: one row an agent, written in laps, and the pages and counts of a fleet.

Begin with `fleet`.
"""
