"""Folders of rules for tests, right and wrong."""

from pathlib import Path

PROJECT = "project:\n  title: Shop\n"
RULES = "redirects:\n  - type: BASIC\n    source: /old\n    target: /new\n    status: FOUND\n"


def write(folder: Path, files: dict[str, str]) -> Path:
    """Write files by path below a folder."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())
    return folder


def project(folder: Path, files: dict[str, str] | None = None) -> Path:
    """A project's folder without fault, and further files."""
    return write(folder, {"project.yaml": PROJECT, "redirects.yaml": RULES, **(files or {})})


def flow(*sources: str, target: str = "/new") -> str:
    """A file of BASIC redirects, one a line; the rule number `n` (from 0) stands in line `n + 2`."""
    rules = (
        f'  - {{"type": "BASIC", "source": "{source}", "target": "{target}", "status": "FOUND"}}\n'
        for source in sources
    )
    return "redirects:\n" + "".join(rules)
