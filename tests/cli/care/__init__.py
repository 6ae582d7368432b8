"""Tests of the commands that take care of a data directory."""
