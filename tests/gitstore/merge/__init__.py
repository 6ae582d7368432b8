"""Tests of `gitstore/merge`."""
