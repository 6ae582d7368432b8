"""Counters of each worker, their files, and the text that Prometheus reads.

Begin with `counters`, then `collector`.
"""
