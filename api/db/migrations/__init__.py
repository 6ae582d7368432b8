"""Alembic migrations of the tables, one module per migration in `versions`; `env.py` runs them."""
