"""Responders for the service itself: health, metrics, contract, events and webhooks.

Begin with `health`.
"""
