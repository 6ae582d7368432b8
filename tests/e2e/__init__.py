"""The whole service over HTTP: real gunicorn with two workers, real repositories, and git as a client beside it."""
