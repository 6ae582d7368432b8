"""Tests of `cli/server`."""
