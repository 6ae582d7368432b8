"""Upstreams of namespaces: their settings, their syncs in the background, and the webhooks of their hosts."""
