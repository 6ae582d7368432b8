"""The `waypost` command, one file per sub-command."""
