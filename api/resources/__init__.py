"""The responders, one module per thing that a path names."""
