"""Tests of the schemas with the language server that editors run."""
