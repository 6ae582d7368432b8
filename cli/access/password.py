"""Passwords for commands: from a variable or a prompt, never from the command line, which every local user can read."""

import os
import sys

import click

from cli.console.exits import InvalidUsage

VARIABLE = "WAYPOST_PASSWORD"


def read_password() -> str:
    """Read the password from WAYPOST_PASSWORD, else ask for it twice on the terminal."""
    password = os.environ.get(VARIABLE)
    if password:
        return password
    if not sys.stdin.isatty():
        raise InvalidUsage(f"No password: standard input is not a terminal. Pass it in the variable {VARIABLE}.")
    entered: str = click.prompt("Password", hide_input=True, confirmation_prompt=True, err=True)
    return entered
