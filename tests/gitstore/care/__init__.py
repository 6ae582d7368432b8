"""Tests of the care of repositories."""
