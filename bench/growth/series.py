"""The series: each growing number, its sizes, and the operations whose cost is measured at each size."""

import shutil
import subprocess
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from bench import rules
from bench.groups import histories
from bench.growth import fleet_series
from bench.growth.cost import Operation
from bench.workbench import AUTHOR, NAMESPACE
from content.formats.tsv import read_rows
from content.matching.request import parse_request
from content.records.names import DEFAULT_DRAFT
from content.records.record import Redirect
from content.records.vocabulary import Kind, RedirectStatus, RedirectType
from gitstore.drafts.bulk.importing import ImportOptions
from gitstore.drafts.drafts import DraftName
from gitstore.drafts.editing.edits import Put
from gitstore.drafts.listing import Query, Span
from gitstore.drafts.revisions import DRAFT
from gitstore.layout import DRAFT_PREFIX
from gitstore.publish.publishing import PublishRequest
from gitstore.store.store import Store, create_store
from gitstore.yamlfiles.project_file import ProjectFile

_SHOP = "shop"
_MAIN = DraftName(_SHOP, DEFAULT_DRAFT)
_PAGE = Span(0, 50)
_WHO = "Bench <bench@shop.example> 1700000000 +0000"


class Series(NamedTuple):
    """The noun of what grows, the sizes, and the operations at one size, in a new folder."""

    noun: str
    sizes: tuple[int, ...]
    operations: Callable[[Path, int], list[Operation]]


def _tens(first: int, last: int) -> tuple[int, ...]:
    sizes = [first]
    while sizes[-1] < last:
        sizes.append(10 * sizes[-1])
    return tuple(sizes)


def _begin(folder: Path) -> Store:
    store = create_store(folder)
    store.namespaces.create(NAMESPACE, "", AUTHOR)
    return store


def _rules(folder: Path, size: int) -> list[Operation]:
    store = _begin(folder)
    store.projects.create(NAMESPACE, _SHOP, ProjectFile(), AUTHOR)
    held = rules.exact_rules(size)

    def load(_turn: int) -> None:
        rows = read_rows(rules.table(held))
        store.drafts.import_rows(NAMESPACE, _MAIN, rows, ImportOptions(), AUTHOR)
        store.publishes.publish(NAMESPACE, PublishRequest(_MAIN, AUTHOR))

    def search(turn: int) -> object:
        text = held[(turn * 7919) % size].source
        return store.drafts.records(NAMESPACE, _MAIN, Kind.REDIRECTS, Query(text=text), _PAGE)

    def view(turn: int) -> object:
        _edit(store, held[size // 2], turn + 1_000)
        return store.drafts.review_view(NAMESPACE, _MAIN, frozenset(Kind), 0, 50)

    def report(turn: int) -> object:
        _edit(store, held[size // 2], turn + 2_000)
        return store.drafts.report(NAMESPACE, _MAIN)

    def answer(turn: int) -> object:
        _edit(store, held[size // 2], turn + 3_000)
        request = parse_request(held[(turn * 7919) % size].source)
        return store.revisions.matcher(NAMESPACE, _SHOP, DRAFT).answer(request)

    return [
        Operation("import and publish of all", load, once=True),
        Operation("edit of a rule", lambda turn: _edit(store, held[size // 2], turn)),
        Operation("search in the draft", search),
        Operation("first page of the draft, by source", lambda _turn: _sorted_page(store)),
        Operation("publish of one rule", lambda _turn: _publish(store)),
        Operation("edit, and the difference with impact", view),
        Operation("edit, and the report of the draft", report),
        Operation("edit, and what the draft answers to a URL", answer),
    ]


def _edit(store: Store, rule: Redirect, turn: int, name: DraftName = _MAIN) -> None:
    changed = Redirect(rule.type, rule.source, f"/edited/{turn}", rule.status)
    store.drafts.edit(NAMESPACE, name, [Put(Kind.REDIRECTS, changed)], AUTHOR)


def _publish(store: Store, name: DraftName = _MAIN) -> None:
    store.publishes.publish(NAMESPACE, PublishRequest(name, AUTHOR))


def _sorted_page(store: Store) -> object:
    return store.drafts.records(NAMESPACE, _MAIN, Kind.REDIRECTS, Query(sort="source"), _PAGE)


def _projects(folder: Path, size: int) -> list[Operation]:
    store = _begin(folder)
    _fast_import(store, _many_projects(size))
    rule, name = Redirect(RedirectType.BASIC, "/a", "/b", RedirectStatus.FOUND), DraftName("p000000", DEFAULT_DRAFT)
    return [
        Operation("first compile of all", lambda _turn: store.releases.compile(NAMESPACE), once=True),
        Operation("edit of a rule", lambda turn: _edit(store, rule, turn, name)),
        Operation("publish of one rule", lambda _turn: _publish(store, name)),
        Operation("published version of one project", lambda _turn: store.releases.project(NAMESPACE, name.project)),
    ]


def _many_projects(size: int) -> Iterator[bytes]:
    content = b"redirects:\n- {type: BASIC, source: /a, target: /b%06d, status: FOUND}\n"
    settings = b"project:\n  title: One of many\n"
    yield b"commit refs/heads/release\ncommitter %b\n%bfrom refs/heads/release^0\n" % (
        _WHO.encode(),
        histories.data(b"Add the projects\n"),
    )
    for number in range(size):
        yield b"M 100644 inline p%06d/redirects.yaml\n%b" % (number, histories.data(content % number))
        yield b"M 100644 inline p%06d/project.yaml\n%b" % (number, histories.data(settings))


def _namespaces(folder: Path, size: int) -> list[Operation]:
    store = create_store(folder)
    store.namespaces.create("n0000", "", AUTHOR)
    store.projects.create("n0000", _SHOP, ProjectFile(), AUTHOR)
    for number in range(1, size):
        shutil.copytree(folder / "repos" / "n0000.git", folder / "repos" / f"n{number:04d}.git")
    return [
        Operation("names", lambda _turn: store.namespaces.names()),
        Operation("faults of all, in the background", lambda _turn: store.releases.failures()),
        Operation("faults of one", lambda _turn: store.releases.faults("n0000")),
    ]


def _publishes(folder: Path, size: int) -> list[Operation]:
    store = _begin(folder)
    store.projects.create(NAMESPACE, histories.LONG, ProjectFile(), AUTHOR)
    histories.write_history(store, size - 1)
    name = DraftName(histories.LONG, DEFAULT_DRAFT)
    rule = Redirect(RedirectType.BASIC, "/rule/7", "/", RedirectStatus.FOUND)

    def resolve(turn: int) -> object:
        head = store.publishes.history(NAMESPACE, histories.LONG, (turn * 37) % size, 1)[0][0].version
        return store.publishes.version(NAMESPACE, histories.LONG, head)

    return [
        Operation("numbering of all", lambda _turn: store.releases.compile(NAMESPACE), once=True),
        Operation("page of the history", lambda turn: store.publishes.history(NAMESPACE, name.project, 100 * turn, 50)),
        Operation("version by its SHA", resolve),
        Operation("edit of a rule", lambda turn: _edit(store, rule, turn, name)),
        Operation("publish of one rule", lambda _turn: _publish(store, name)),
    ]


def _behind(folder: Path, size: int) -> list[Operation]:
    """Drafts that left release `size` publishes ago; each turn publishes another one."""
    store = _begin(folder)
    store.projects.create(NAMESPACE, histories.LONG, ProjectFile(), AUTHOR)
    names = [DraftName(histories.LONG, f"old-{turn}") for turn in range(8)]
    for turn, name in enumerate(names):
        rule = Redirect(RedirectType.BASIC, f"/mine/{turn}", "/", RedirectStatus.FOUND)
        path = f"{histories.LONG}/redirects/mine-{turn}.yaml"
        store.drafts.edit(NAMESPACE, name, [Put(Kind.REDIRECTS, rule, file=path.partition("/")[2])], AUTHOR)
    histories.write_history(store, size)
    store.releases.compile(NAMESPACE)
    return [Operation("publish of a draft", lambda turn: _publish(store, names[turn]))]


def _drafts(folder: Path, size: int) -> list[Operation]:
    store = _begin(folder)
    store.projects.create(NAMESPACE, _SHOP, ProjectFile(), AUTHOR)
    rule = Redirect(RedirectType.BASIC, "/a", "/b", RedirectStatus.FOUND)
    head = store.drafts.edit(NAMESPACE, _MAIN, [Put(Kind.REDIRECTS, rule)], AUTHOR).head
    lines = "".join(f"create {DRAFT_PREFIX}{_SHOP}/d{number} {head}\n" for number in range(1, size))
    repository = store.directory.namespace(NAMESPACE).repository
    subprocess.run(["git", "-C", str(repository), "update-ref", "--stdin"], input=lines, text=True, check=True)
    return [
        Operation("names of the drafts", lambda _turn: store.drafts.names(NAMESPACE, _SHOP)),
        Operation("edit of a rule", lambda turn: _edit(store, rule, turn)),
        Operation("publish of one rule", lambda _turn: _publish(store)),
    ]


def _fast_import(store: Store, stream: Iterator[bytes]) -> None:
    repository = store.directory.namespace(NAMESPACE).repository
    subprocess.run(["git", "-C", str(repository), "fast-import", "--quiet"], input=b"".join(stream), check=True)


SERIES: Mapping[str, Series] = {
    # 49,000 is below the size from which on rules that never answer are not counted after each publish.
    "rules": Series("rules in a project", (1_000, 10_000, 49_000, 100_000, 1_000_000), _rules),
    "projects": Series("projects in a namespace", _tens(10, 10_000), _projects),
    "namespaces": Series("namespaces", _tens(10, 1_000), _namespaces),
    "publishes": Series("publishes of a project", _tens(100, 100_000), _publishes),
    "behind": Series("publishes since a draft began", _tens(1, 1_000), _behind),
    "agents": Series("agents of a project", _tens(100, 100_000), fleet_series.agents_of_a_project),
    "waiters": Series("waiting polls of a worker", _tens(100, 100_000), fleet_series.waiting_polls),
    "drafts": Series("open drafts of a project", _tens(1, 1_000), _drafts),
}
