"""Tests with real counterparts that are built or fetched first; `make interop` runs them."""
