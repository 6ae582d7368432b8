"""`waypost validate` and `waypost fmt`: checks of files, their output, and the files that a change touches."""
