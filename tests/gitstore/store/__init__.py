"""Tests of `gitstore/store`."""
