"""Tests of `cli/console`."""
