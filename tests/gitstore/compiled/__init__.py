"""Tests of `gitstore/compiled`."""
