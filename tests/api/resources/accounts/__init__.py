"""Tests of `api/resources/accounts`."""
