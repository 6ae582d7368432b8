"""Tests of `api/metrics`."""
