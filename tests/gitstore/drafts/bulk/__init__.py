"""Tests of `gitstore/drafts`."""
