"""Commands that serve: `serve` and `demo`."""
