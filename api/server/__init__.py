"""The server: gunicorn with its ASGI worker on uvloop, and custom connections.

Begin with `server`, then `worker` and `connection`. `gunicorn_names` lists all that is used from inside gunicorn, and
ADR 0017 gives the reasons.
"""
