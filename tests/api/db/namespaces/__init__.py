"""Tests of the namespaces in the database."""
