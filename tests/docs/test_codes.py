"""The pages of codes: every code of a problem and of an error, and no code that is never used."""

import ast
import inspect
import re
from collections.abc import Iterator
from importlib import import_module

import pytest

from api.data.served_data import DataLost
from content.records.problem_codes import CODES
from gitstore import errors
from gitstore.compiled.indexes.manifest import COLLISION, INVALID, NOT_A_FOLDER, UNREADABLE
from gitstore.history.live import REWOUND
from gitstore.upstream import arrival
from gitstore.wire.client.remote_errors import RemoteAway, RemoteGarbage, RemoteMissing, RemoteRefused
from tests.docs.blocks import code, rows
from tests.docs.reference import modules, name_of, page, texts
from tests.service import ROOT

CODE = re.compile(r"[a-z]+(_[a-z0-9]+)*")


def test_every_check_of_rules_is_listed_with_its_severity() -> None:
    listed = {code(row[0]): row[1] for row in rows(page("problems.md")) if len(row) == 4 and code(row[0])}
    assert listed == {name: severity.value for name, (severity, _) in CODES.items()}


def test_every_code_of_a_problem_is_listed_and_none_is_invented() -> None:
    listed = {code(row[0]) for row in rows(page("problems.md"))} - {""}
    given = {found for tree in modules() for found in problem_codes(tree)} | set(CODES)
    assert given - listed == set(), "given, but not listed"
    assert listed - given == set(), "listed, but never given"


def problem_codes(tree: ast.Module) -> Iterator[str]:
    """Return the codes of problems: the first text of each call whose name is that of a problem."""
    makers = re.compile(r"_?problem|Problem|_?report|_?refuse|must_problem|_build_problem")
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and makers.fullmatch(name_of(node.func)):
            first = [part for each in node.args[:1] for part in _sides(each)]
            yield from (text for text in texts(first) if CODE.fullmatch(text))
        if isinstance(node, ast.Call) and name_of(node.func) == "TableRow":  # whose fault is the third
            faults = [part for each in node.args[2:] for part in ast.walk(each) if isinstance(part, ast.expr)]
            yield from (text for text in texts(faults) if CODE.fullmatch(text))
        if isinstance(node, ast.Return) and isinstance(node.value, ast.Tuple):
            yield from (text for text in texts(node.value.elts[:1]) if text == "bad_syntax")


def _sides(node: ast.expr) -> list[ast.expr]:
    """Return an expression, or both sides of a choice."""
    return [node.body, node.orelse] if isinstance(node, ast.IfExp) else [node]


def test_every_error_code_is_listed_and_none_is_invented() -> None:
    listed = {code(row[1]) for row in rows(page("error-codes.md")) if len(row) == 4} - {""}
    given = {found for tree in modules() for found in error_codes(tree)}
    assert given - listed == {"refused"}, "given, but not listed"
    assert listed - given == set(), "listed, but never given"


def error_codes(tree: ast.Module) -> Iterator[str]:
    """Return the codes of responses: attributes and defaults named `code`, arguments of errors, and their tables."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and name_of(node.func) in _ERRORS:
            given = [*node.args, *(word.value for word in node.keywords)]
            yield from (text for text in texts(given) if CODE.fullmatch(text))
        if isinstance(node, ast.FunctionDef):
            yield from _default_code(node)
        if isinstance(node, ast.Assign | ast.AnnAssign):
            yield from _assigned_codes(node)


_ERRORS = {"ApiError", "Forbidden", "Unauthenticated", "Unavailable", "bad_request", "invalid"}
_TABLES = {"_HTTP_CODES", "_ERRORS", "_DEFAULT_ERROR"}


def _default_code(function: ast.FunctionDef) -> Iterator[str]:
    named = [*function.args.posonlyargs, *function.args.args]
    arguments = named[len(named) - len(function.args.defaults) :]
    for argument, default in zip(arguments, function.args.defaults, strict=True):
        if argument.arg == "code":
            yield from texts([default])


def _assigned_codes(node: ast.Assign | ast.AnnAssign) -> Iterator[str]:
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    names = {name_of(target) for target in targets}
    if node.value is not None and "code" in names:
        yield from texts([node.value])
    if node.value is not None and names & _TABLES:
        inner = [each for each in ast.walk(node.value) if isinstance(each, ast.Constant)]
        yield from (text for text in texts(inner) if CODE.fullmatch(text))


def test_every_code_of_a_reason_of_health_is_listed_with_its_status_and_none_is_invented() -> None:
    _, _, section = page("http-api.md").partition("### Health")
    listed = {code(row[0]): code(row[1]) for row in rows(section)[1:]}
    literal = {found: status for tree in modules() for found, status in fault_codes(tree)}
    of_content = (INVALID, COLLISION, NOT_A_FOLDER, UNREADABLE, REWOUND)
    of_upstreams = (
        arrival.INVALID,
        arrival.REWOUND,
        arrival.DIVERGED,
        *(each.code for each in (RemoteAway, RemoteRefused, RemoteGarbage, RemoteMissing)),
    )
    degraded = dict.fromkeys((*of_content, *of_upstreams), "degraded")
    assert listed == literal | degraded | {DataLost.code: "unavailable"}


def fault_codes(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """Return the codes of faults that are written as texts, with their status."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and name_of(node.func) == "Fault":
            yield from ((text, name_of(node.args[0]).lower()) for text in texts(node.args[1:2]))


DEBUG_PAGE = (ROOT / "docs" / "how-to" / "debug-a-publish.md").read_text("utf-8")
RAISED = [tuple(map(code, row)) for row in rows(DEBUG_PAGE)[1:]]


@pytest.mark.parametrize(("name", "file", "function"), RAISED, ids=lambda name: name)
def test_the_function_that_a_code_leads_to_raises_it(name: str, file: str, function: str) -> None:
    """Functions name the class in a `raise`, or in the docstring where a function of theirs raises it."""
    (error,) = (each for each in vars(errors).values() if getattr(each, "code", "") == name and "code" in vars(each))
    module = import_module(file.removesuffix(".py").replace("/", "."))
    assert re.search(rf"\b{error.__name__}\b", inspect.getsource(getattr(module, function)))
