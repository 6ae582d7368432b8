"""Tests of the client of Git's protocol."""
