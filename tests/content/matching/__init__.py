"""Tests of `content/matching`."""
