"""Tests of `api/data`."""
