"""`waypost preview`: a working directory served on this machine, as it is saved."""
