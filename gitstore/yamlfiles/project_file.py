"""The two small files of a project: its settings (project.yaml) and its tests (tests.yaml)."""

from dataclasses import dataclass, replace
from typing import Any

from content.checks.expectations import Expectation
from content.records.problem import Problem
from gitstore.yamlfiles.dump import INDENT, dump_value
from gitstore.yamlfiles.rule_file import empty_value_problem, is_null
from gitstore.yamlfiles.yaml_node import MappingNode, ScalarNode, key_at, node_at, plain
from gitstore.yamlfiles.yaml_reader import Document, YamlRefused, read
from schemas import check

POLICY = ("review", "lint", "signatures")
"""The names of the settings below `policy`."""
_EMPTY: dict[str, Any] = {"project": {}, "tests": []}
_EMPTY_MESSAGES = {
    "project": "`{name}:` has nothing after it, which would reset all settings; add them, or write `{name}: {{}}`",
    "tests": "`{name}:` has nothing after it, which would remove all tests; add them, or write `{name}: []`",
}


@dataclass(frozen=True, slots=True)
class ProjectFile:
    """A project's settings; `review` and `signatures` are `required` or `optional`, `lint` is `strict` or `normal`."""

    title: str = ""
    description: str = ""
    review: str = "optional"
    lint: str = "normal"
    signatures: str = "optional"

    @property
    def strict(self) -> bool:
        """True if warnings also block a publish."""
        return self.lint == "strict"

    @property
    def needs_review(self) -> bool:
        """True if a second person has to approve before a publish."""
        return self.review == "required"

    @property
    def needs_signature(self) -> bool:
        """True if commits that are pushed to release have to be signed."""
        return self.signatures == "required"


def policy_of(project: ProjectFile, *, is_read: bool = True) -> dict[str, str]:
    """Return the settings of the policy; of a file that cannot be read, a review is required."""
    found = {name: getattr(project, name) for name in POLICY}
    return found if is_read else {**found, "review": "required"}


def default_policy() -> dict[str, str]:
    """Return the policy of a project that has none."""
    return policy_of(ProjectFile())


def load_project(data: bytes, file: str) -> tuple[ProjectFile, list[Problem]]:
    """Read the settings of a file, and its problems; with any problem, the settings are the defaults."""
    found, _, problems = _load(data, file, "project")
    if problems:
        return ProjectFile(), problems
    policy = found.get("policy", {})
    settings = ProjectFile(
        found.get("title", ""),
        found.get("description", ""),
        policy.get("review", "optional"),
        policy.get("lint", "normal"),
        policy.get("signatures", "optional"),
    )
    return settings, []


def dump_project(project: ProjectFile) -> bytes:
    """Return the file with these settings, without those at their default."""
    default = ProjectFile()
    policy = policy_of(project)
    lines = _lines({"title": project.title, "description": project.description}, INDENT)
    kept = {name: value for name, value in policy.items() if value != getattr(default, name)}
    lines += [f"{INDENT}policy:\n", *_lines(kept, INDENT * 2)] if kept else []
    return ("project:\n" + "".join(lines) if lines else "project: {}\n").encode()


def load_tests(data: bytes, file: str) -> tuple[list[Expectation], list[Problem]]:
    """Read the tests of a file, each with its line, and its problems; with any problem, the list is empty."""
    found, lines, problems = _load(data, file, "tests")
    if problems:
        return [], problems
    return [
        Expectation(test["url"], int(test["status"]), test.get("location", ""), file, line)
        for test, line in zip(found, lines, strict=True)
    ], []


def _lines(fields: dict[str, str], indent: str) -> list[str]:
    return [f"{indent}{name}: {dump_value(value, indent)}\n" for name, value in fields.items() if value]


def _load(data: bytes, file: str, name: str) -> tuple[Any, list[int], list[Problem]]:
    """Return the value of the file's only key, the line of each of its items, and the problems."""
    try:
        document = read(data, file)
    except YamlRefused as ex:
        return None, [], list(ex.problems)
    instance = plain(document.root)
    entry = node_at(document.root, f"/{name}")
    if isinstance(document.root, MappingNode) and isinstance(entry, ScalarNode) and is_null(entry):
        empty = [empty_value_problem(document, name, _EMPTY_MESSAGES[name])]
        return None, [], [*empty, *_problems(document, {**instance, name: _EMPTY[name]}, name)]
    problems = _problems(document, instance, name)
    if problems:
        return None, [], problems
    lines = [document.mark(node_at(entry, f"/{at}").start).line for at in range(len(instance[name]))]
    return instance[name], lines, []


def _problems(document: Document, instance: Any, name: str) -> list[Problem]:
    return [_with_position(problem, document) for problem in check(name, instance)]


def _with_position(problem: Problem, document: Document) -> Problem:
    find = key_at if problem.code == "unknown_field" else node_at
    mark = document.mark(find(document.root, problem.pointer).start)
    return replace(problem, file=document.file, line=mark.line, column=mark.column)
