"""The `waypost` command, a module for each sub-command."""
