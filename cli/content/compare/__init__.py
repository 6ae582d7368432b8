"""`waypost diff` and `waypost comment`: the changes between two states, and the comment on a pull request."""
