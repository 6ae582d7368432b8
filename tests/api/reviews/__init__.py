"""Tests of `api/reviews`."""
