"""The HTTP service: a Falcon ASGI application with authentication, permissions and agents."""
