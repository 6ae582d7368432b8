"""Tests of upstreams in the service."""
