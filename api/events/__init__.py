"""Events and webhooks: publishes and silent agents become events; streams follow them, webhooks deliver them.

Begin with `publish_event_relay` (Git history to events) and `webhook_dispatcher` (events to deliveries).
"""
