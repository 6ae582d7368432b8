"""Tests of `gitstore/yamlfiles`."""
