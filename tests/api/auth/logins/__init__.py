"""Tests of `api/auth/logins`."""
