"""Tests of `gitstore/history/upkeep`."""
