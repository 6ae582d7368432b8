"""Passwords for commands: from a variable or asked for, never from the command line, where anybody can read them."""

import os
import sys

import click

from cli.exits import WrongUse

VARIABLE = "WAYPOST_PASSWORD"


def read_password() -> str:
    """The password in WAYPOST_PASSWORD, else one that is asked for twice on the terminal."""
    password = os.environ.get(VARIABLE)
    if password:
        return password
    if not sys.stdin.isatty():
        raise WrongUse(f"Nobody can be asked for a password here: give it in the variable {VARIABLE}.")
    asked: str = click.prompt("Password", hide_input=True, confirmation_prompt=True, err=True)
    return asked
