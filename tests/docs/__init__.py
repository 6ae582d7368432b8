"""Tests of the documentation against the product: its lists are complete, its links work, its examples run."""
