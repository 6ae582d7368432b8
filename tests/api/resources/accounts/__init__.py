"""Tests of the accounts over HTTP."""
