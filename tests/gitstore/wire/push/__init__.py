"""Tests of `gitstore/wire/push`."""
