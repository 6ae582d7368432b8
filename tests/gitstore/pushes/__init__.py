"""Tests of `gitstore/pushes`."""
