"""Tests of `cli/content`."""
