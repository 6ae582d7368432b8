"""Tests with real counterparts that are built from their sources first; `make interop` runs them."""
