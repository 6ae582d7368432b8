"""Tests of `content/changes`."""
