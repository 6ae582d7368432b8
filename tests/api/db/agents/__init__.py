"""Tests of the agents in the database."""
