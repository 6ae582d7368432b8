"""Tests of `api/auth/permissions`."""
