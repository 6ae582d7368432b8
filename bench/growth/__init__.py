"""The growth of each cost with what exists: every series at sizes by tens, each size in a process of its own."""
