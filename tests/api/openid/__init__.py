"""Tests of the login with OpenID Connect, without a browser."""
