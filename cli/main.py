"""The `waypost` command: sub-commands by name, each in a module of its own that is loaded when it is asked for."""

from importlib import import_module
from typing import Any

import click

from cli.exits import run_command
from cli.suggestion import near, with_suggestion
from cli.version import __version__
from gitstore.errors import NotFound

COMMANDS = {
    "serve": "serve",
    "demo": "demo",
    "namespace": "namespace",
    "project": "project",
    "user": "user",
    "role": "role",
    "token": "token",
    "validate": "validate",
    "import": "import_",
    "review": "review",
    "publish": "publish",
    "rollback": "rollback",
    "log": "log",
    "match": "match",
    "diff": "diff",
    "edit": "edit",
}
"""The module of each command; loading all of them takes half a second, which a Git hook should not pay."""


class _Commands(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - as click calls it
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 - as above
        if cmd_name not in COMMANDS:
            return None
        found: click.Command = import_module(f"cli.{COMMANDS[cmd_name]}").command
        return found

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args[0] not in COMMANDS and not args[0].startswith("-"):
            raise click.UsageError(f"No such command {args[0]!r}.{near(args[0], COMMANDS)}", ctx)
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except NotFound as ex:
            raise with_suggestion(ctx, ex) from ex


@click.command(
    "waypost", cls=_Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100}
)
@click.version_option(__version__, prog_name="waypost")
def waypost() -> None:
    """HTTP redirects and static pages as YAML in Git, published by merging, served to agents fast.

    To look around, start with `waypost demo`. To check a folder of rules: `waypost validate`.

    Commands that change content or users work on the data directory itself, whether or not it is being served.
    Every setting is an option, an environment variable WAYPOST_… and a key of waypost.toml in the current folder,
    in that order.

    Exit codes: 0 fine, 1 problems found, 2 wrong use, 3 failure.
    """


def run() -> None:
    """Run the command line."""
    run_command(lambda: waypost.main(prog_name="waypost", standalone_mode=False))


if __name__ == "__main__":
    run()
