"""The history of the tables, one module per step in `versions`; `env.py` runs them."""
