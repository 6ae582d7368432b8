"""Tests of the checks behind readiness."""
