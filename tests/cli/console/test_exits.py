"""Errors of commands: each becomes an exit code and one sentence."""

import errno
import os

import click
import pytest

from api.errors import ApiError
from api.settings import InvalidSetting
from cli.console.exits import CommandFailed, InvalidUsage, ProblemsFound, run_command
from content.records.problem import Problem
from gitstore import errors
from tests.cli.terminal import invoke

PROBLEM = Problem("code", "It is wrong.", "shop/redirects.yaml", 3, 5)
CONFLICT: dict[str, object] = {"source": "/a", "field": "target", "base": "/1", "release": "/2", "draft": "/3"}

STOPS = [
    (ProblemsFound(), 1, ""),
    (errors.Invalid("Nothing was done.", [PROBLEM]), 1, f"{PROBLEM.text()}\nwaypost: Nothing was done.\n"),
    (
        errors.Conflicts("They conflict.", [CONFLICT]),
        1,
        (
            "/a: target was changed on both sides\n    base: /1\n    release: /2\n    draft: /3\nwaypost: They conflict. "
            "Run `waypost edit resolve` with --take draft or --take release, for all or by --source.\n"
        ),
    ),
    (errors.NothingToPublish("There is none."), 1, "waypost: There is none.\n"),
    (errors.NothingToChange("It is so."), 1, "waypost: It is so.\n"),
    (errors.DraftExists("There is one."), 1, "waypost: There is one.\n"),
    (errors.StaleDraft("It moved."), 1, "waypost: It moved.\n"),
    (errors.ApprovalRequired("Ask."), 1, "waypost: Ask.\n"),
    (errors.NotFound("There is none."), 2, "waypost: There is none.\n"),
    (errors.AlreadyExists("There is one."), 2, "waypost: There is one.\n"),
    (errors.BadRequest("No."), 2, "waypost: No.\n"),
    (InvalidUsage("Not so."), 2, "waypost: Not so.\n"),
    (InvalidSetting("Not so."), 2, "waypost: Not so.\n"),
    (click.UsageError("Not so."), 2, "waypost: Not so.\n"),
    (ApiError(422, "invalid", "No.", [PROBLEM, PROBLEM]), 2, f"{PROBLEM.text()}\nwaypost: No.\n"),
    (ApiError(503, "away", "Later."), 3, "waypost: Later.\n"),
    (errors.Broken("It is damaged."), 3, "waypost: It is damaged.\n"),
    (errors.Busy("Later."), 3, "waypost: Later.\n"),
    (errors.LostRace("Again."), 3, "waypost: Again.\n"),
    (errors.OutOfSpace("Full."), 3, "waypost: Full.\n"),
    (CommandFailed("It failed.\nTwice."), 3, "waypost: It failed.\nTwice.\n"),
    (OSError(errno.EACCES, "Permission denied", "/data"), 3, "waypost: /data: Permission denied.\n"),
    (OSError(errno.EIO, "Input/output error"), 3, "waypost: Input/output error.\n"),
    (
        OSError(errno.ENOSPC, "No space left on device", "/data"),
        3,
        "waypost: The disk is full; nothing was changed. Free some space, then try again.\n",
    ),
    (click.Abort(), 3, "waypost: stopped.\n"),
    (KeyboardInterrupt(), 3, "waypost: stopped.\n"),
    (click.ClickException("No."), 3, "waypost: No.\n"),
]


@pytest.mark.parametrize(("stop", "code", "shown"), STOPS, ids=[f"{type(stop).__name__}" for stop, _, _ in STOPS])
def test_every_kind_of_stop_has_its_code_and_its_sentence(
    stop: BaseException, code: int, shown: str, capsys: pytest.CaptureFixture[str]
) -> None:
    def command() -> None:
        raise stop

    with pytest.raises(SystemExit) as ended:
        run_command(command)
    assert ended.value.code == code
    assert capsys.readouterr() == ("", shown)


def test_an_internal_error_is_one_line_that_a_report_can_quote(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        run_command(lambda: os.environ["ABSENT"])
    assert ended.value.code == 3
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert err.startswith("waypost: internal error (a bug); please report this line: KeyError: 'ABSENT' (")
    assert "console/test_exits.py:" in err


def test_the_exit_of_a_server_process_is_its_own() -> None:
    def command() -> None:
        raise SystemExit(4)

    with pytest.raises(SystemExit) as ended:
        run_command(command)
    assert ended.value.code == 4


def test_without_an_exception_the_exit_code_is_0(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        run_command(lambda: None)
    assert (ended.value.code, capsys.readouterr()) == (0, ("", ""))


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        (("publsh",), "No such command 'publsh'. Did you mean 'publish'?"),
        (("xyz",), "No such command 'xyz'.\n"),
        (("log", "sampel", "shop"), "There is no namespace 'sampel'. Did you mean 'sample'?"),
        (("log", "SAMPLE", "shop"), "There is no namespace 'SAMPLE'. Did you mean 'sample'?"),
        (("publish", "sample", "shpo"), "Did you mean 'shop'?"),
        (("match", "sample", "Docs", "/a"), "Did you mean 'docs'?"),
        (("rollback", "sample", "company", "99"), "There is no publish 99; the newest is 1.\n"),
        (("log", "sample", "zzzzz"), "There is no project 'zzzzz' in this namespace.\n"),
    ],
)
@pytest.mark.usefixtures("data")
def test_a_misspelled_name_gets_the_nearest_as_a_suggestion(words: tuple[str, ...], shown: str) -> None:
    """There is no suggestion without a near name, or for a right name below something that is missing."""
    outcome = invoke(*words)
    assert outcome.code == 2
    assert shown in outcome.err
