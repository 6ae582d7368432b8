"""The examples of the documents, run unchanged against the service that `make run` starts."""

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.docs.blocks import blocks, code, codes, documents, examples, rows
from tests.docs.reference import page
from tests.docs.shell import Reader, shows
from tests.service import ROOT, START_SECONDS, Service, running, wait_until

PASSWORD = "night-shift-2026"
DEMO = (sys.executable, "-m", "cli.main", "demo")
WITH_EXAMPLES = [path for path in documents() if examples(path.read_text("utf-8"))]


class Demo(NamedTuple):
    """A running demo, and its output at the start."""

    service: Service
    printed: str

    @property
    def token(self) -> str:
        """The agent's token."""
        found = re.search(r"svc_[0-9A-Za-z]{49}", self.printed)
        assert found, "the demo printed no token"
        return found[0]


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Demo]:
    settings = {"WAYPOST_ADMIN_PASSWORD": PASSWORD, "WAYPOST_WORKERS": "1"}
    with running(DEMO, tmp_path_factory.mktemp("demo") / "data", settings) as service:
        wait_until(lambda: "\nReady: " in service.log.read_text("utf-8"), START_SECONDS, "the demo to be ready")
        yield Demo(service, service.log.read_text("utf-8"))


@pytest.mark.parametrize("path", WITH_EXAMPLES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_the_examples_of_a_document_run_and_print_what_it_shows(path: Path, demo: Demo, tmp_path: Path) -> None:
    found = examples(path.read_text("utf-8"))
    printed = Reader(tmp_path, demo.service, PASSWORD, demo.token).type(found)
    for example, part in zip(found, printed, strict=True):
        if example.output is not None:
            assert shows(example.output, part), f"{example.commands}\nprints\n{part}\nand not\n{example.output}"


def test_the_readme_and_the_tutorial_have_examples() -> None:
    """A misspelled marker must not exclude a document silently."""
    assert {ROOT / "README.md", ROOT / "docs/tutorial/first-project.md"} <= set(WITH_EXAMPLES)


@pytest.mark.parametrize("path", WITH_EXAMPLES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_an_example_uses_the_url_that_was_printed_and_its_document_says_so_before(path: Path) -> None:
    text = path.read_text("utf-8")
    typed = "".join(example.commands for example in examples(text))
    before = text.partition("```sh run")[0]
    assert "127.0.0.1" not in typed
    assert [name for name in ("URL", "PASSWORD", "AGENT") if f"${name}" in typed and name not in before] == []


def test_every_marker_of_a_block_is_known() -> None:
    words = [word for path in documents() for block in blocks(path.read_text("utf-8")) for word in block.words[1:]]
    used = {word for word in words if not word.startswith("file:")}
    upstreams = {"mirror-token", "host-webhook"}  # run by the tests of upstreams
    assert used == {"run", "output", "printed", "verify", "example", "log", *upstreams}


def test_the_readme_shows_what_the_demo_prints(demo: Demo) -> None:
    shown = next(block for block in blocks((ROOT / "README.md").read_text("utf-8")) if "printed" in block.words)
    lines = demo.printed.replace(demo.service.url, "http://127.0.0.1:8080").splitlines()
    assert shows(shown.text, "\n".join(line for line in lines if not line.startswith('{"event"')))  # without the log


def test_the_lines_that_the_demo_prints_do_what_they_say(demo: Demo) -> None:
    lines = [f"{line} -f" for line in demo.printed.splitlines() if line.startswith("curl ")]
    found = subprocess.run(["bash", "-ec", "\n".join(lines)], capture_output=True, text=True, timeout=30, check=True)
    version, rules, answer = map(json.loads, found.stdout.splitlines())
    assert len(version) == len("455a84fdba426449112e6fd15b4b8a764e210add")
    assert len(rules["items"]) == 2
    assert answer["results"][0]["status"] == 301


def test_a_request_is_logged_with_the_fields_that_a_document_shows(demo: Demo) -> None:
    text = (ROOT / "docs" / "how-to" / "debug-a-publish.md").read_text("utf-8")
    (shown,) = (json.loads(block.text) for block in blocks(text) if "log" in block.words)
    account = {"username": shown["principal"], "password": PASSWORD}
    token = demo.service.client.post("/auth/login", json=account).json()["tokens"]["accessToken"]
    with demo.service.as_token(token) as client:
        path = shown["path"].replace("debug", "nowhere")
        assert client.post(path, headers={"X-Request-Id": shown["request_id"]}).status_code == 404
    wanted = f'"request_id": "{shown["request_id"]}"'
    log = demo.service.log
    lines = wait_until(lambda: [line for line in log.read_text("utf-8").splitlines() if wanted in line], 10, wanted)
    assert json.loads(lines[0]).keys() == shown.keys()


def test_every_file_of_the_data_directory_is_described(demo: Demo) -> None:
    cells = [cell for row in rows(page("data-directory.md")) for cell in codes(row[0])]
    patterns = [re.compile(re.sub(r"<[a-z]+>", "[^/]+", re.escape(cell).replace(r"\-", "-"))) for cell in cells]
    data = demo.service.data
    found = {path.relative_to(data).as_posix() for path in data.rglob("*") if path.is_file()}
    outside = {path for path in found if not re.match(r"repos/[^/]+\.git/|trash/|removed/", path)}
    assert outside
    assert {path for path in outside if not any(pattern.fullmatch(path) for pattern in patterns)} == set()


def test_output_is_compared_and_dots_stand_for_any_text() -> None:
    assert shows("a …\nc\n", "a b\nc")
    assert shows("a…c", "a\nb\nc")
    assert not shows("a b", "a bc")
    assert not shows("a.c", "abc")


def test_every_metric_is_described_with_its_type(demo: Demo) -> None:
    with demo.service.as_token(demo.token) as client:
        shown = re.findall(r"^# TYPE (\S+) (\S+)$", client.get("/metrics").text, re.MULTILINE)
    listed = {code(row[0]): row[1] for row in rows(page("metrics.md")) if code(row[0])}
    assert listed == dict(shown)
