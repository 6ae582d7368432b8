"""Tests of SSH signatures."""
