"""Tests of `api/app`."""
