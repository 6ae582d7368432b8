"""`waypost comment`: one comment on a pull request, against a fake API of each kind of host."""

from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from tests.cli.ci.fake_host import TOKEN, FakeHost, fake_host
from tests.cli.terminal import Outcome, invoke

MARKER = "<!-- waypost-diff: rules -->"
BOT = "github-actions[bot]"
UNSET = ("GITHUB_ACTIONS", "GITLAB_CI", "GITHUB_REF", "GITHUB_EVENT_PATH", "GITHUB_TOKEN", "CI_MERGE_REQUEST_IID")


@pytest.fixture(params=["github", "gitlab"])
def host(request: pytest.FixtureRequest) -> Iterator[FakeHost]:
    """Serve each kind of host."""
    with fake_host(request.param, "robot" if request.param == "gitlab" else "") as host:
        yield host


@pytest.fixture
def github() -> Iterator[FakeHost]:
    """Serve the API of GitHub."""
    with fake_host("github") as host:
        yield host


def comment(host: FakeHost, text: str, *words: str, env: Mapping[str, str] | None = None) -> Outcome:
    return invoke(
        "comment", *words, env={**dict.fromkeys(UNSET, ""), **host.environment, **(env or {})}, stdin=text.encode()
    )


def test_a_comment_is_created_then_updated(host: FakeHost) -> None:
    host.add("Nice work.", "kim")
    first = comment(host, f"{MARKER}\n\n### One → 1\n")
    assert (first.code, first.err.endswith(" request 7 is created.\n")) == (0, True), first.err
    assert comment(host, f"{MARKER}\n\n### Two\n").err.endswith(" request 7 is updated.\n")
    assert comment(host, f"{MARKER}\n\n### Two\n").err.endswith(" request 7 is unchanged.\n")
    assert [each["body"] for each in host.comments] == ["Nice work.", f"{MARKER}\n\n### Two\n"]


def test_comments_on_other_folders_and_of_other_people_stay(host: FakeHost) -> None:
    host.add(f"{MARKER}\n\nnot ours", "mallory")
    assert comment(host, "<!-- waypost-diff: other -->\n\nA\n").code == 0
    assert comment(host, f"{MARKER}\n\nB\n").code == 0
    assert [each["body"].split()[-1] for each in host.comments] == ["ours", "A", "B"]


def test_the_comment_is_found_behind_hundreds_of_others(host: FakeHost) -> None:
    for number in range(250):
        host.add(f"comment {number}", "kim")
    assert comment(host, f"{MARKER}\n\nA\n").code == 0
    assert comment(host, f"{MARKER}\n\nB\n").err.endswith("updated.\n")
    assert len(host.comments) == 251


def test_a_host_without_pages_is_read_once(github: FakeHost) -> None:
    github.has_pages = False
    github.add("x", "kim")
    assert comment(github, f"{MARKER}\n\nA\n").err.endswith("created.\n")
    assert comment(github, f"{MARKER}\n\nB\n").err.endswith("updated.\n")


def test_the_number_comes_from_the_event_if_the_ref_has_none(github: FakeHost, tmp_path: Path) -> None:
    event = tmp_path / "event.json"
    event.write_text('{"pull_request": {"number": 7}}')
    env = {"GITHUB_REF": "refs/heads/main", "GITHUB_EVENT_PATH": str(event)}
    assert comment(github, f"{MARKER}\n\nA\n", env=env).err.endswith("created.\n")


@pytest.mark.parametrize(
    "env", [{"GITHUB_REF": "refs/heads/main"}, {"GITHUB_ACTIONS": "", "GITLAB_CI": "true"}], ids=["github", "gitlab"]
)
def test_a_job_for_a_branch_has_nothing_to_comment_on(github: FakeHost, env: dict[str, str]) -> None:
    outcome = comment(github, f"{MARKER}\n\nA\n", env=env)
    assert (outcome.code, "not for a pull request" in outcome.err, github.requests) == (0, True, [])


def test_an_account_can_be_named(github: FakeHost) -> None:
    github.add(f"{MARKER}\n\nA\n", "acme-app[bot]")
    assert comment(github, f"{MARKER}\n\nB\n", "--author", "acme-app[bot]").err.endswith("updated.\n")


def test_a_comment_that_the_next_run_will_not_find_is_noted(github: FakeHost) -> None:
    github.writer = "acme-app[bot]"
    outcome = comment(github, f"{MARKER}\n\nA\n")
    assert (outcome.code, "author is acme-app[bot], so the next run does not find it" in outcome.err) == (0, True)
    assert "author" not in comment(github, "<!-- waypost-diff: x -->\n", "--author", "acme-app[bot]").err


@pytest.mark.parametrize("status", [403, 404, 422, 500, 307])
def test_a_refusal_is_an_error_without_the_token(host: FakeHost, status: int) -> None:
    host.status = status
    outcome = comment(host, f"{MARKER}\n\nA\n")
    assert (outcome.code, host.comments) == (3, [])
    assert "refused POST of a comment on " in outcome.err
    assert f"{status} Resource not accessible by …" in outcome.err
    hints = ("needs the permission" in outcome.err, "is not followed" in outcome.err)
    assert hints == (status in {403, 404}, status == 307), "no hint that leads nowhere"
    assert TOKEN not in outcome.out + outcome.err
    assert host.requests[-1].startswith("POST ")


def test_the_token_is_not_taken_to_another_address(host: FakeHost) -> None:
    with fake_host(host.kind) as other:
        host.moved_to = f"{other.url}/api/user"
        outcome = comment(host, f"{MARKER}\n\nA\n")
        assert (outcome.code, "refused GET of a comment on " in outcome.err, other.requests) == (3, True, [])


def test_a_wrong_token_and_an_absent_host_are_errors(host: FakeHost) -> None:
    wrong = {"GITHUB_TOKEN": "wrong", "WAYPOST_COMMENT_TOKEN": "wrong"}
    assert "401 Bad credentials" in comment(host, f"{MARKER}\n\nA\n", env=wrong).err
    away = {"GITHUB_API_URL": "http://127.0.0.1:9", "CI_API_V4_URL": "http://127.0.0.1:9"}
    outcome = comment(host, f"{MARKER}\n\nA\n", env=away)
    assert (outcome.code, "127.0.0.1:9 did not answer GET" in outcome.err) == (3, True)
    odd = {"GITHUB_API_URL": "file:///etc", "CI_API_V4_URL": "file:///etc"}
    assert comment(host, f"{MARKER}\n\nA\n", env=odd).code == 3


@pytest.mark.parametrize(
    ("env", "words"),
    [
        ({"GITHUB_ACTIONS": ""}, "neither GITHUB_ACTIONS nor GITLAB_CI is set"),
        ({"GITHUB_TOKEN": ""}, "The variable GITHUB_TOKEN is not set"),
        ({"GITHUB_API_URL": ""}, "The variable GITHUB_API_URL is not set"),
    ],
)
def test_a_missing_variable_is_named(github: FakeHost, env: dict[str, str], words: str) -> None:
    outcome = comment(github, f"{MARKER}\n\nA\n", env=env)
    assert (outcome.code, words in outcome.err) == (3, True), outcome.err


@pytest.mark.parametrize("text", ["", "### no marker\n", f"{MARKER}\n{'x' * 70_000}"])
def test_any_other_text_is_refused(github: FakeHost, text: str) -> None:
    assert (comment(github, text).code, github.requests) == (2, [])
