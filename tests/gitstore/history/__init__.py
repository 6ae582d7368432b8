"""Tests of `gitstore/history`."""
