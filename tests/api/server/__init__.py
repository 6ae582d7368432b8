"""Tests of `api/server`."""
