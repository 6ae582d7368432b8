"""Tests of the dashboard: Chromium against the real service."""
