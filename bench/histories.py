"""A long history: its pages, one publish, the life of one rule."""

import subprocess
import time
from collections.abc import Callable, Iterator
from statistics import median

import httpx

from bench.figure import Figure, at_most
from bench.workbench import AUTHOR, NAMESPACE, Site, Workbench, make_token, scope
from content.record import Redirect
from content.vocabulary import RedirectStatus, RedirectType
from gitstore.project_file import ProjectFile
from gitstore.store import Store

LONG = "long"
PUBLISHES = 10_000
_RULES = 20
_PAGE = 500
_REPEAT = 7
_TO_REACH = at_most(100)
_ALWAYS = "/always"


def measure(bench: Workbench) -> Iterator[Figure]:
    """The rows."""
    data = bench.new_folder("history")
    data.mkdir()
    store = Store(data)
    store.create_namespace(NAMESPACE, "", AUTHOR)
    store.create_project(NAMESPACE, LONG, ProjectFile(), AUTHOR)
    _write_history(store)
    yield Figure(
        f"numbering {PUBLISHES:,} publishes that came by one push", _taken(lambda: store.warm(NAMESPACE)), "ms"
    )
    site = Site(data, (), "", make_token(data, "admin"))
    with site.serving() as service, service.as_token(site.admin) as client:
        client.get(f"{scope(LONG)}/diff?from=1&to=2").raise_for_status()  # its own process is there from now on
        for name, start in (("newest", 0), ("from the middle", PUBLISHES // 2), ("oldest", PUBLISHES - _PAGE)):
            yield from _asked(client, f"history, {_PAGE} {name} of {PUBLISHES:,}", f"history?offset={start}")
        taken = _taken(lambda: _until_read(client))
        yield Figure("the first question for a life, all is read from Git", taken, "ms", None, "in tries of 10 s")
        yield from _asked(client, "one publish with what it changed", f"history/{PUBLISHES // 2}")
        yield from _asked(
            client, f"life of a rule that all {PUBLISHES:,} changed, {_PAGE} of them", f"history?source={_ALWAYS}"
        )
        yield from _asked(client, f"life of a rule that one in {_RULES} changed", "history?source=/rule/7")
        yield from _asked(client, "life of a rule that never was", "history?source=/none")


def _until_read(client: httpx.Client) -> None:
    """Ask until the history is read."""
    while client.get(f"{scope(LONG)}/history?source={_ALWAYS}").status_code == httpx.codes.SERVICE_UNAVAILABLE:
        time.sleep(0.1)


def _asked(client: httpx.Client, what: str, tail: str) -> Iterator[Figure]:
    """How long an answer takes, the first one apart: it writes down what is then at hand."""
    taken = [_taken(lambda: client.get(f"{scope(LONG)}/{tail}").raise_for_status()) for _ in range(_REPEAT)]
    yield Figure(what, median(taken[1:]), "ms", _TO_REACH, f"median of {_REPEAT - 1}; the first {taken[0]:,.0f} ms")


def _taken(work: Callable[[], object]) -> float:
    begun = time.perf_counter()
    work()
    return 1000 * (time.perf_counter() - begun)


def _write_history(store: Store) -> None:
    """Publishes as the service would make them, a merge each, written by C git in one go."""
    repository = store.directory.namespace(NAMESPACE).repository
    stream = b"".join(_commits(PUBLISHES - 1))
    command = ["git", "-C", str(repository), "fast-import", "--quiet"]
    subprocess.run(command, input=stream, check=True)


def _commits(count: int) -> Iterator[bytes]:
    who = "Bench <bench@shop.example>"
    service = "Waypost <service@waypost.invalid>"
    targets = dict.fromkeys((f"/rule/{number}" for number in range(_RULES)), "/begin")
    for turn in range(count):
        when = f"{1_700_000_000 + turn} +0000"
        targets[_ALWAYS], targets[f"/rule/{turn % _RULES}"] = f"/turn/{turn}", f"/turn/{turn}"
        content = _file(targets)
        message = f"Publish {LONG}: 2 redirects changed\n\nPublished-by: {who}\n".encode()
        start = b"from refs/heads/release^0\n" if turn == 0 else b"from :%d\n" % (2 * turn)
        head = f"author {who} {when}\ncommitter {service} {when}\n".encode()
        file = b"M 100644 inline %b/redirects.yaml\n%b" % (LONG.encode(), _data(content))
        yield b"commit refs/heads/made\nmark :%d\n%b%b%b%b\n" % (2 * turn + 1, head, _data(b"Edit\n"), start, file)
        merge = b"merge :%d\n" % (2 * turn + 1)
        yield b"commit refs/heads/release\nmark :%d\n%b%b%b%b%b\n" % (
            2 * turn + 2,
            head,
            _data(message),
            start,
            merge,
            file,
        )
    yield b"reset refs/heads/made\nfrom 0000000000000000000000000000000000000000\n\n"


def _data(content: bytes) -> bytes:
    return b"data %d\n%b\n" % (len(content), content)


def _file(targets: dict[str, str]) -> bytes:
    rules = (Redirect(RedirectType.BASIC, source, target, RedirectStatus.FOUND) for source, target in targets.items())
    lines = (
        f"  - {{type: {rule.type}, source: {rule.source}, target: {rule.target}, status: {rule.status}}}\n"
        for rule in rules
    )
    return ("redirects:\n" + "".join(lines)).encode()
