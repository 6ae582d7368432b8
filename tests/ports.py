"""Ports for the servers of tests."""

import socket


def free_port() -> int:
    """Return a port of loopback on which nothing listens."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])
