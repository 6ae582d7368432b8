"""Tests of `api/auth`."""
