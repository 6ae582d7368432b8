"""Tests of `api/resources`."""
