"""Benchmarks: `make bench`, or `python -m bench NAME` for one group of figures."""
