"""Tests of `content/records`."""
