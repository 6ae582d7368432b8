"""Tests of `api/http/request`."""
