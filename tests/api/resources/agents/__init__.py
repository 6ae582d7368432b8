"""Tests of `api/resources/agents`."""
