"""Tests of `api/auth/tokens`."""
