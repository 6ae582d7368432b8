"""Tests of `api/resources/git`."""
