"""Rules without I/O: records, vocabulary, matching, checks, diff, merge and exchange formats."""
