"""Folders of rules for tests, valid and invalid."""

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
    """Write a valid project folder, and further files."""
    return write(folder, {"project.yaml": PROJECT, "redirects.yaml": RULES, **(files or {})})


def flow(*sources: str, target: str = "/new") -> str:
    """Return a file of BASIC redirects, one a line; rule number `n` (from 0) is in line `n + 2`."""
    rules = (
        f'  - {{"type": "BASIC", "source": "{source}", "target": "{target}", "status": "FOUND"}}\n'
        for source in sources
    )
    return "redirects:\n" + "".join(rules)
