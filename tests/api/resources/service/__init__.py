"""Tests of `api/resources/service`."""
