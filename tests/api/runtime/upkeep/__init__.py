"""Tests of the background services."""
