"""Tests of proposals in the store, on branches that C git pushes."""
