"""Tests of `gitstore/git`."""
