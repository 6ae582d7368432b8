"""Commands that take care of a data directory: `doctor`, `backup`, `restore` and `webhooks`."""
