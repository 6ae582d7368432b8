"""Notice to others: publishes and silent agents become events, which clients follow and webhooks deliver."""
