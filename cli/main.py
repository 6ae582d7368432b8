"""The `waypost` command: its sub-commands by name, each imported when it is called."""

import gc
from importlib import import_module
from typing import Any, NamedTuple

import click

from cli.console.exits import run_command
from cli.console.suggestion import suggest, with_suggestion
from cli.version import __version__
from gitstore.errors import NotFound


class _Entry(NamedTuple):
    """The module of a command, and its summary, which is the first sentence of its docstring; a test compares both."""

    module: str
    summary: str


# Importing all of them takes 2 seconds of processor time: too much for the list of them, and one is enough for a Git hook.
COMMANDS = {
    "serve": _Entry("server.serve", "Serve the data directory over HTTP until stopped."),
    "demo": _Entry("server.demo", "Serve sample content, created at the first start."),
    "preview": _Entry("preview.preview", "Serve a working directory on this machine, as it is saved."),
    "namespace": _Entry("content.namespace", "Create, list, archive and restore namespaces."),
    "project": _Entry("content.project", "Create, list and remove projects."),
    "user": _Entry("access.user", "Manage users, their roles and their sessions."),
    "role": _Entry("access.role", "Create, change, list and remove custom roles."),
    "token": _Entry("access.token", "Create, list, rotate and remove API tokens, for agents and CI."),
    "validate": _Entry("content.validate.validate", "Check files of rules before they are merged."),
    "fmt": _Entry("content.validate.fmt", "Write files of rules in their canonical layout."),
    "schema": _Entry("content.schema", "Print the JSON Schema of a kind of file, or write all."),
    "import": _Entry("content.import_", "Import redirects from a table into a draft."),
    "review": _Entry("release.review", "Review a draft, or show its reviews."),
    "proposal": _Entry("release.proposal", "Review pushed branches, and merge them into release."),
    "publish": _Entry("release.publish", "Publish a draft; agents get it at their next poll."),
    "rollback": _Entry("release.rollback", "Publish an earlier version again, as a new one."),
    "log": _Entry("release.log", "List the publishes of a project, newest first."),
    "verify": _Entry("content.verify", "Verify that a copy is what was published."),
    "match": _Entry("content.match", "Show how a URL resolves, and why."),
    "diff": _Entry("content.compare.diff", "Show the differences between two states."),
    "comment": _Entry("content.compare.comment", "Comment on the pull request of this CI job."),
    "edit": _Entry("content.edit", "Change the draft of a project."),
    "doctor": _Entry("care.doctor", "Check a data directory, and name what is broken."),
    "backup": _Entry("care.backup", "Save repositories, archives, database and keys."),
    "restore": _Entry("care.restore", "Restore a backup as a new data directory."),
    "audit": _Entry("care.audit", "Check and export the audit trail."),
    "upstream": _Entry("care.upstream", "Follow another repository, or send publishes to it."),
    "webhooks": _Entry("care.webhooks", "Show and end the pause of webhooks in a restored copy."),
    "run": _Entry("run", "Run a Python file that can import Waypost's packages."),
}


class _Commands(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - the signature is click's
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 - the signature is click's
        if cmd_name not in COMMANDS:
            return None
        gc.disable()  # nothing of the imports is garbage, and to look for it takes a sixth of their time
        try:
            found: click.Command = import_module(f"cli.{COMMANDS[cmd_name].module}").command
        finally:
            gc.enable()
        return found

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002 - the signature is click's
        with formatter.section("Commands"):
            formatter.write_dl([(name, entry.summary) for name, entry in COMMANDS.items()])

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
