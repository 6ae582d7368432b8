"""Choices for conflicts, applied to the rules of a draft."""

from collections.abc import Iterable, Sequence
from typing import Any

from content.merge import WHOLE_RULE, rule_of, whole_rule
from content.problem import Problem, errors
from content.record import Page, Placed, Record, identity_id
from content.record_rules import record_problems
from content.rule_order import put_back
from content.vocabulary import Kind
from gitstore.choice_values import field_value, refusal
from gitstore.choices import Choice, Conflict
from gitstore.page_bodies import as_written, located
from gitstore.rule_lists import RuleLists
from gitstore.snapshot import Snapshot


class Chosen:
    """The rules of a draft with choices applied, one rule after another."""

    def __init__(self, draft: Snapshot, release: Snapshot) -> None:
        self._draft = draft
        self._release = release
        self.lists = RuleLists(draft, release)

    def apply(self, kind: Kind, choices: Sequence[tuple[int, Choice, Conflict]]) -> None:
        """Apply all choices for one rule; each comes with its number among all."""
        conflict = choices[0][2]
        identity = conflict.get("source") or conflict.get("path") or ""
        before = self._draft.find(kind, identity_id(identity))
        fields = whole_rule(located(self._draft.project, before) if before else None)
        for place, choice, found in choices:
            fields = self._choose(kind, fields, (place, choice, found), identity)
        after = self._as_written(rule_of(kind, fields), choices, before) if fields is not None else None
        self._check(choices, after)
        self._write(kind, identity, before, after)

    def _choose(
        self, kind: Kind, fields: dict[str, Any] | None, chosen: tuple[int, Choice, Conflict], identity: str
    ) -> dict[str, Any] | None:
        place, choice, conflict = chosen
        if choice.take == "draft":
            return fields
        value = conflict["release"]
        if choice.take == "value":
            value = field_value(kind, choice, f"/choices/{place}/value", identity, self._draft.project)
        if choice.field == WHOLE_RULE:
            # the place of a rule that is given whole is that of the side that has it
            side = conflict["release"] or conflict["draft"] or {}
            return None if value is None else {"file": side.get("file"), **value}
        return {**(fields or {}), choice.field: value}

    def _as_written(
        self, after: Placed[Record], choices: Iterable[tuple[int, Choice, Conflict]], before: Placed[Record] | None
    ) -> Placed[Record]:
        """The rule with its content's file named as the file of the rule names it; Invalid where that cannot be."""
        written = as_written(self._draft.project, after, [{after.record.identity: before}] if before else [])
        given = [place for place, choice, _ in choices if choice.field == "contentFile" and choice.take == "value"]
        if given and isinstance(written.record, Page) and not written.record.content_file:
            message = f"A page in {after.file} can name a file in its own folder, or below."
            raise refusal([Problem("wrong_value", message, pointer=f"/choices/{given[0]}/value")])
        return written

    def _check(self, choices: Iterable[tuple[int, Choice, Conflict]], after: Placed[Record] | None) -> None:
        """Refuse a value that is wrong in the rule that it becomes a part of; what both sides have may stand."""
        own = {choice.field: place for place, choice, _ in choices if choice.take == "value"}
        found = errors(record_problems(after.record)) if after and own else []
        wrong = []
        for problem in found:
            field = problem.pointer.split("/")[1]
            if WHOLE_RULE in own:
                wrong.append(problem.under(f"/choices/{own[WHOLE_RULE]}/value"))
            elif field in own:
                wrong.append(Problem(problem.code, problem.message, pointer=f"/choices/{own[field]}/value"))
        if wrong:
            raise refusal(wrong)

    def _write(self, kind: Kind, identity: str, before: Placed[Record] | None, after: Placed[Record] | None) -> None:
        old_path, new_path = (self._path(placed) for placed in (before, after))
        if before and old_path != new_path:
            rest = [record for record in self.lists.read(kind, old_path) if record.identity != identity]
            self.lists.write(kind, old_path, rest)
        if after:
            self._put(kind, new_path, after.record)

    def _put(self, kind: Kind, path: str, record: Record) -> None:
        present = self.lists.read(kind, path)
        known = [each.identity for each in present]
        if record.identity in known:
            self.lists.write(kind, path, [record if each.identity == record.identity else each for each in present])
        else:
            order = [each.identity for each in RuleLists(self._release).read(kind, path)]
            self.lists.write(kind, path, put_back(present, order, {record.identity: record}))

    def _path(self, placed: Placed[Record] | None) -> str:
        return placed.file.removeprefix(f"{self._draft.project}/") if placed else ""
