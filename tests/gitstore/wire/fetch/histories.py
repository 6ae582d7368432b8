"""Repositories with random histories, written by C git, and what C git says of them."""

import random
import subprocess
from pathlib import Path

from gitstore.git.repository_creation import init_repository


def run(repository: Path, *words: str, data: bytes = b"") -> bytes:
    """Run git in a repository, also on a machine without an author; return its output."""
    author = ("-c", "user.name=Test", "-c", "user.email=test@waypost.example")
    return subprocess.run(("git", *author, *words), cwd=repository, input=data, check=True, capture_output=True).stdout


def write_random(repository: Path, seed: int, commits: int = 60) -> None:
    """Write a history with branches and merges, files that change, move and return, and clocks that differ."""
    rng = random.Random(seed)  # noqa: S311 - a repeatable history, no secret
    stream = []
    for number in range(1, commits + 1):
        parents = rng.sample(range(max(1, number - 6), number), min(number - 1, rng.choice([1, 1, 1, 2])))
        time = 1_700_000_000 + number + rng.choice([0, 0, 0, -40_000, 5_000])
        lines = [b"commit refs/heads/%b\nmark :%d\n" % (_branch(rng, number, commits), number)]
        lines += [b"committer G <g@x> %d +0000\ndata 1\nx\n" % time]
        lines += [b"%b :%d\n" % (b"merge" if at else b"from", parent) for at, parent in enumerate(parents)]
        for _ in range(rng.randint(1, 4)):
            path = b"%b/%b.yaml" % (rng.choice([b"a", b"b", b"a/deep", b"a/deep/er"]), rng.choice([b"x", b"y", b"z"]))
            content = b"".join(
                b"line %d of %d\n" % (n, rng.choice([1, 1, 1, n])) for n in range(rng.choice([3, 40, 400]))
            )
            lines.append(b"M 100644 inline %b\ndata %d\n%b\n" % (path, len(content), content))
        stream += lines
    stream.append(b"tag v1\nfrom :%d\ntagger G <g@x> 1700000000 +0000\ndata 1\nx\n" % (commits // 2))
    run(repository, "fast-import", "--quiet", "--force", data=b"".join(stream))


def _branch(rng: random.Random, number: int, commits: int) -> bytes:
    return b"release" if number == commits else rng.choice([b"release", b"one", b"two"])


def make_repository(folder: Path, seed: int) -> Path:
    """Create a repository with a random history."""
    init_repository(folder)
    write_random(folder, seed)
    return folder


def listed(repository: Path, *words: str) -> set[bytes]:
    """Return the ids of the objects that `git rev-list --objects` lists."""
    found = run(repository, "rev-list", "--objects", "--no-object-names", *words)
    return {bytes.fromhex(line.decode()) for line in found.split()}


def tips(repository: Path, *names: str) -> tuple[bytes, ...]:
    """Return the objects that names have."""
    return tuple(bytes.fromhex(run(repository, "rev-parse", name).decode().strip()) for name in names)
