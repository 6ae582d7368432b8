"""Tests of `api/http/guard`."""
