"""Tests of work outside the event loop."""
