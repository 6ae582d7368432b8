"""A long history: its pages, one publish, the history of one rule."""

import subprocess
import time
from collections.abc import Callable, Iterator
from statistics import median

import httpx

from bench.figure import Figure, at_most
from bench.workbench import AUTHOR, NAMESPACE, Site, Workbench, make_token, scope
from content.records.record import Redirect
from content.records.vocabulary import RedirectStatus, RedirectType
from gitstore.store.store import Store, create_store
from gitstore.yamlfiles.project_file import ProjectFile

LONG = "long"
PUBLISHES = 10_000
_RULES = 20
_PAGE = 500
_REPEAT = 7
_TARGET = at_most(100)
_ALWAYS = "/always"


def measure(bench: Workbench) -> Iterator[Figure]:
    """Yield the figures."""
    data = bench.new_folder("history")
    data.mkdir()
    store = create_store(data)
    store.namespaces.create(NAMESPACE, "", AUTHOR)
    store.projects.create(NAMESPACE, LONG, ProjectFile(), AUTHOR)
    write_history(store, PUBLISHES - 1)
    yield Figure(
        f"numbering {PUBLISHES:,} publishes from one push",
        _elapsed_ms(lambda: store.releases.compile(NAMESPACE)),
        "ms",
    )
    site = Site(data, (), "", make_token(data, "admin"))
    with site.serving() as service, service.as_token(site.admin) as client:
        client.get(f"{scope(LONG)}/diff?from=1&to=2").raise_for_status()  # starts the process for diffs
        for name, start in (("newest", 0), ("from the middle", PUBLISHES // 2), ("oldest", PUBLISHES - _PAGE)):
            yield from _measure_get(client, f"history, {_PAGE} {name} of {PUBLISHES:,}", f"history?offset={start}")
        elapsed = _elapsed_ms(lambda: _until_read(client))
        yield Figure("first history of a rule, read from Git", elapsed, "ms", None, "in requests of 10 s")
        yield from _measure_get(client, "one publish with its changes", f"history/{PUBLISHES // 2}")
        yield from _measure_get(
            client, f"history of a rule that all {PUBLISHES:,} changed, {_PAGE} of them", f"history?source={_ALWAYS}"
        )
        yield from _measure_get(client, f"history of a rule that one in {_RULES} changed", "history?source=/rule/7")
        yield from _measure_get(client, "history of an unknown rule", "history?source=/none")


def _until_read(client: httpx.Client) -> None:
    """Repeat the request until the history is read."""
    while client.get(f"{scope(LONG)}/history?source={_ALWAYS}").status_code == httpx.codes.SERVICE_UNAVAILABLE:
        time.sleep(0.1)


def _measure_get(client: httpx.Client, label: str, tail: str) -> Iterator[Figure]:
    """Measure the responses to a request; the first one is separate, because it fills the caches."""
    elapsed = [_elapsed_ms(lambda: client.get(f"{scope(LONG)}/{tail}").raise_for_status()) for _ in range(_REPEAT)]
    yield Figure(label, median(elapsed[1:]), "ms", _TARGET, f"median of {_REPEAT - 1}; the first {elapsed[0]:,.0f} ms")


def _elapsed_ms(work: Callable[[], object]) -> float:
    begun = time.perf_counter()
    work()
    return 1000 * (time.perf_counter() - begun)


def write_history(store: Store, count: int) -> None:
    """Write so many publishes like those of the service, a merge each, with one run of C git."""
    repository = store.directory.namespace(NAMESPACE).repository
    stream = b"".join(_commits(count))
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
        file = b"M 100644 inline %b/redirects.yaml\n%b" % (LONG.encode(), data(content))
        yield b"commit refs/heads/made\nmark :%d\n%b%b%b%b\n" % (2 * turn + 1, head, data(b"Edit\n"), start, file)
        merge = b"merge :%d\n" % (2 * turn + 1)
        yield b"commit refs/heads/release\nmark :%d\n%b%b%b%b%b\n" % (
            2 * turn + 2,
            head,
            data(message),
            start,
            merge,
            file,
        )
    yield b"reset refs/heads/made\nfrom 0000000000000000000000000000000000000000\n\n"


def data(content: bytes) -> bytes:
    """Return a data command of `git fast-import`."""
    return b"data %d\n%b\n" % (len(content), content)


def _file(targets: dict[str, str]) -> bytes:
    rules = (Redirect(RedirectType.BASIC, source, target, RedirectStatus.FOUND) for source, target in targets.items())
    lines = (
        f"  - {{type: {rule.type}, source: {rule.source}, target: {rule.target}, status: {rule.status}}}\n"
        for rule in rules
    )
    return ("redirects:\n" + "".join(lines)).encode()
