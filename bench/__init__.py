"""Benchmarks: `make bench`, or `python -m bench NAME` for one group of rows. They measure; the tests prove."""
