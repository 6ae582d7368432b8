"""Tests of `cli/preview`."""
