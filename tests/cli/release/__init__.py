"""Tests of `cli/release`."""
