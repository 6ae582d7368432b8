"""Tests of `api/resources/content`."""
