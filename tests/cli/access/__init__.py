"""Tests of `cli/access`."""
