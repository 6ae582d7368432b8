"""Tests of what workers serve."""
