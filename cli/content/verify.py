"""`waypost verify`: prove from outside that rules and pages are those that were published."""

from pathlib import Path

import click

from cli.console.exits import ProblemsFound
from cli.console.output import print_json, print_lines, print_notes
from cli.console.setup import json_option

_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


@click.command("verify")
@click.argument("url")
@click.option("--version", "wanted", default="", metavar="VERSION", help="A version in place of the published one.")
@click.option("--keys", type=_FILE, help="The keys to trust: a saved copy of /.well-known/waypost-keys.")
@click.option("--redirects", type=_FILE, help="The redirects that an agent holds, as JSON; else those of the service.")
@click.option("--pages", type=_FILE, help="The pages that an agent holds, as JSON; else those of the service.")
@json_option
def command(
    url: str, wanted: str, keys: Path | None, redirects: Path | None, pages: Path | None, *, as_json: bool
) -> None:
    """Verify that a copy is what was published.

    URL is that of a project: https://waypost.example/api/namespace/acme/project/shop. The token is WAYPOST_TOKEN. The
    signature of the manifest is verified, then each list by the digests in it. A file has the items as a list, or as the
    service sends them. Lists that the token may not read are left out, unless a file is given. Without --keys, those that
    the service shows are trusted.
    """
    from cli.content.verification import Verifier  # noqa: PLC0415 - loads an HTTP client and keys

    report = Verifier(url, keys).verify(wanted, {"redirects": redirects, "pages": pages})
    if as_json:
        print_json(report.as_json())
    else:
        print_lines(*report.lines())
    if report.faults:
        print_notes(*report.faults)
        raise ProblemsFound
