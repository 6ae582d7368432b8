"""Tests of `api/db`."""
