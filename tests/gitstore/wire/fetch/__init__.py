"""Tests of `gitstore/wire/fetch`."""
