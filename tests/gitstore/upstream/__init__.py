"""Tests of upstreams in the content store: two directories, and a bare repository between them."""
