"""Tests of `api/http/response`."""
