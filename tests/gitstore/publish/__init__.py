"""Tests of `gitstore/publish`."""
