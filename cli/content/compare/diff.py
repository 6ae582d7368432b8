"""`waypost diff`: the differences between two states of a project, or between a folder of rules and a commit."""

from pathlib import Path

import click

from cli.console.exits import InvalidUsage, ProblemsFound
from cli.console.setup import data_option, note_settings_file, open_store, read_settings
from gitstore.drafts.revisions import BASE, DRAFT


@click.command("diff")
@click.argument("first", metavar="NAMESPACE|DIR", default=".")
@click.argument("project", default="", metavar="[PROJECT]")
@click.argument("old", metavar="[FROM]", default="")
@click.argument("new", metavar="[TO]", default="")
@click.option("--draft", default="main", show_default=True, metavar="NAME", help="The draft that `draft` refers to.")
@click.option("--base", metavar="REV", help="Compare the folder DIR with a commit, branch or tag of its repository.")
@click.option(
    "--head", default="", metavar="REV", help="Compare this revision with --base, in place of the files in DIR."
)
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "json", "markdown"]),
    default="text",
    show_default=True,
    help="Use markdown for a comment on a pull request.",
)
@click.option("--json", "as_json", is_flag=True, help="The same as --format json.")
@click.option("--exit-code", is_flag=True, help="Exit with 1 if there are differences.")
@data_option
def command(  # noqa: PLR0913 - one parameter an option
    first: str,
    project: str,
    old: str,
    new: str,
    *,
    draft: str,
    base: str | None,
    head: str,
    form: str,
    as_json: bool,
    exit_code: bool,
    data: str | None,
) -> None:
    """Show the differences between two states.

    Rule by rule and field by field, and other files such as project.yaml. FROM and TO are published, draft, a version
    (a publish number or SHA), proposal/ID, or a branch. FROM may also be base, the commit at which TO left
    release: then only the changes of the draft or branch itself are shown. By default FROM is base and TO is draft.

    With --base, compare the folder DIR, of a namespace or of a project, with a commit of its Git repository, where the
    two part: without a server, with the changed answers, and the results of checks and tests.

    The exit code is 0 also if there are differences, unless --exit-code is given.
    """
    form = "json" if as_json else form
    if base is None:
        from cli.content.compare.state_diff import print_difference  # noqa: PLC0415 - loads the store, which folders do not need

        if not project or head:
            raise InvalidUsage("Name a namespace and a project; or a folder of a Git repository, with --base REV.")
        differs = print_difference(open_store(data), (first, project), (old or BASE, new or DRAFT), draft, form)
    else:
        from cli.content.compare.folder_diff import print_folder_changes  # noqa: PLC0415 - as above

        if project:
            raise InvalidUsage("With --base, name one folder only.")
        note_settings_file()
        differs = print_folder_changes(Path(first), base, head, form, read_settings().pattern_limits)
    if exit_code and differs:
        raise ProblemsFound
