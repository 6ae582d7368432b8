"""Commands on releases: review, publish, roll back, log."""
