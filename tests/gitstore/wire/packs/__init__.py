"""Tests of `gitstore/wire/packs`."""
