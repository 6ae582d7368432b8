"""Tests of `gitstore/comparison`."""
