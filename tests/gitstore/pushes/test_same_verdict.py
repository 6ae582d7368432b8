"""A law: a state is accepted as a push exactly if the checks of a checkout find nothing that blocks a publish."""

import random

import pytest

from gitstore.namespaces.checkout import read_checkout
from tests.gitstore.fixtures import Place, seeded_random
from tests.gitstore.pushes.pushed import Clone, rules
from tests.rounds import rounds

_SOURCES = ("/a", "/b", "/c", "/d")
_TARGETS = (*_SOURCES, "/e", "https://x.example/", "ftp://x/", "not a target")
_STATES = rounds(10, 50)


def _file(chance: random.Random) -> str:
    if chance.random() < 0.1:
        return chance.choice(
            ["redirects: [", "redirects:\n  - {}\n", "pages: []\n", "redirects: []\nmore: 1\n", "", "a: &x b\n"]
        )
    pairs = [(chance.choice(_SOURCES), chance.choice(_TARGETS)) for _ in range(chance.randint(1, 2))]
    return rules(*pairs)


def _state(chance: random.Random) -> dict[str, str]:
    files = {"shop/project.yaml": "project: {title: Shop}\n", "shop/redirects.yaml": _file(chance)}
    extras = {
        "shop/redirects/more.yaml": _file(chance),
        "docs/project.yaml": "project:\n  title: D\n  policy:\n    lint: strict\n",
        "docs/redirects.yaml": _file(chance),
        "shop/tests.yaml": f"tests:\n  - url: {chance.choice(_SOURCES)}\n    status: 301\n",
        "shop/pages.yaml": "pages:\n  - type: BASIC\n    path: /p\n    contentType: TEXT_PLAIN\n    file: body.txt\n",
        "shop/body.txt": "text\n",
        "README.md": "x\n",
        ".gitignore": "x\n",
        ".vscode/settings.json": "{}\n",
        "notes.txt": "x\n",
        "shop/sub/a.yaml": "x\n",
    }
    return files | {path: text for path, text in extras.items() if chance.random() < 0.3}


def test_pushes_and_checkouts_agree(place: Place) -> None:
    chance, clone, verdicts = seeded_random(), Clone.of(place), set[bool]()
    for _ in range(_STATES):
        clone.git("reset", "-q", "--hard", "origin/release")
        clone.git("rm", "-q", "-r", ".")
        clone.commit(_state(chance))
        blocking = read_checkout(clone.folder).find_blocking_problems()
        verdict = clone.check()
        assert bool(verdict.refusal) is bool(blocking), (verdict, blocking)
        verdicts.add(bool(blocking))
    assert verdicts == {True, False}, "the states are all alike"


@pytest.mark.parametrize("name", [".vscode/settings.json", ".gitignore"])
def test_files_beside_the_projects_are_never_read(place: Place, name: str) -> None:
    clone = Clone.of(place)
    clone.commit({"shop/redirects.yaml": rules(("/a", "/b")), name: "\0: [not: YAML"})
    assert not clone.push().refusal
    served = place.fresh()
    assert served.targets() == {"/a": "/b"}
    assert sorted(served.store.releases.manifest("acme").projects) == ["shop"]
