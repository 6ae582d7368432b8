"""The `waypost` command: its sub-commands by name, each imported when it is called."""

import gc
from importlib import import_module
from typing import Any

import click

from cli.console.exits import run_command
from cli.console.suggestion import suggest, with_suggestion
from cli.version import __version__
from gitstore.errors import NotFound

# The module of each sub-command. Importing all of them takes half a second, too much for a Git hook.
COMMANDS = {
    "serve": "server.serve",
    "demo": "server.demo",
    "preview": "preview.preview",
    "namespace": "content.namespace",
    "project": "content.project",
    "user": "access.user",
    "role": "access.role",
    "token": "access.token",
    "validate": "content.validate.validate",
    "fmt": "content.validate.fmt",
    "schema": "content.schema",
    "import": "content.import_",
    "review": "release.review",
    "proposal": "release.proposal",
    "publish": "release.publish",
    "rollback": "release.rollback",
    "log": "release.log",
    "verify": "content.verify",
    "match": "content.match",
    "diff": "content.compare.diff",
    "comment": "content.compare.comment",
    "edit": "content.edit",
    "doctor": "care.doctor",
    "backup": "care.backup",
    "restore": "care.restore",
    "audit": "care.audit",
    "upstream": "care.upstream",
    "webhooks": "care.webhooks",
    "run": "run",
}


class _Commands(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - the signature is click's
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 - the signature is click's
        if cmd_name not in COMMANDS:
            return None
        gc.disable()  # nothing of the imports is garbage, and to look for it takes a sixth of their time
        try:
            found: click.Command = import_module(f"cli.{COMMANDS[cmd_name]}").command
        finally:
            gc.enable()
        return found

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args[0] not in COMMANDS and not args[0].startswith("-"):
            raise click.UsageError(f"No such command {args[0]!r}.{suggest(args[0], COMMANDS)}", ctx)
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
    """Manage and serve HTTP redirects and static pages, kept as YAML in Git.

    To try it, run `waypost demo`. To check a folder of rules, run `waypost validate`.

    Commands that change content or users work on the data directory itself, whether or not it is being served.
    Every setting is an option, an environment variable WAYPOST_… and a key of waypost.toml in the current folder,
    in this order of precedence.

    Exit codes: 0 success, 1 problems found, 2 usage error, 3 failure.
    """


def run() -> None:
    """Run the command line."""
    # Standalone, click prints exceptions and exits by itself:
    # https://click.palletsprojects.com/en/stable/api/#click.Command.main
    run_command(lambda: waypost.main(prog_name="waypost", standalone_mode=False))


if __name__ == "__main__":
    run()
