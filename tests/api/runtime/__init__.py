"""Tests of `api/runtime`."""
