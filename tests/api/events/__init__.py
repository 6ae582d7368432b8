"""Tests of `api/events`."""
