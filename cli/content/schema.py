"""`waypost schema`: the JSON Schemas of the files that people write, for editors."""

from pathlib import Path

import click

from cli.console.exits import InvalidUsage
from cli.console.output import print_notes
from cli.console.streams import write
from gitstore.git.atomic_io import replace_file
from schemas.bundle import EDITED, bundle_text


@click.command("schema")
@click.argument("name", type=click.Choice(EDITED), required=False)
@click.option(
    "--write", "folder", type=click.Path(path_type=Path, file_okay=False), help="Write all four into this folder."
)
def command(name: str | None, folder: Path | None) -> None:
    """Print the JSON Schema of a kind of file, or write all.

    Editors validate and complete a file with a first line such as
    `# yaml-language-server: $schema=../.vscode/waypost/redirects.schema.json`. The documents are complete: they refer to
    no other file.
    """
    if bool(name) == bool(folder):
        raise InvalidUsage(f"Name a schema ({', '.join(EDITED)}), or a folder with --write.")
    if name:
        write(bundle_text(name))
    if folder:
        folder.mkdir(parents=True, exist_ok=True)
        for each in EDITED:
            replace_file(folder / f"{each}.schema.json", bundle_text(each).encode())
        print_notes(f"{len(EDITED)} schemas are in {folder}.")
