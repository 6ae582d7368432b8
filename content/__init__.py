"""The pure core: records, vocabulary, matching, checks, diff, merge and exchange formats; no I/O."""
