"""The installed name of Waypost: it holds the start module, and in an installation the packages behind it.

Importing it changes no path. `waypost` and `python -m waypost` run the start module.
"""
