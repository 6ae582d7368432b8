"""Tests of `content/formats`."""
