"""The HTTP service: a Falcon ASGI application, identity, permissions and agents."""
