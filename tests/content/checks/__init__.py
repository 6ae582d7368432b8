"""Tests of `content/checks`."""
