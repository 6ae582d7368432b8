"""Tests of `gitstore/namespaces`."""
