"""Tests of `gitstore/wire`."""
