"""Random concurrent edits of one project by two people, and the expected merge, written independently of the product.

A side is plain data: files with their rules in order, and the files of contents. The oracle does not use
`content.changes.merge`: it compares values, one by one.
"""

import json
import random
from copy import deepcopy
from dataclasses import dataclass, field
from posixpath import dirname, join, normpath, relpath
from typing import Any

# The fields of a rule as in a file. The `body` of a page is the path of its content in the project, and is not written.
Rule = dict[str, Any]
# Rules by kind and identity, with the `place` (path of the file) as one more field.
Flat = dict[tuple[str, str], Rule]

IDENTITY = {"redirects": "source", "pages": "path"}
FILES = {
    "redirects": ("redirects.yaml", "redirects/a.yaml", "redirects/b.yaml", "redirects/deep/c.yaml"),
    "pages": ("pages.yaml", "pages/a.yaml", "pages/deep/b.yaml"),
}
BODIES = ("robots.txt", "pages/humans.txt", "pages/deep/feed.xml")
SETTINGS = ("project: {title: Shop}\n", "project: {title: Store}\n", "project: {title: Kiosk}\n")


@dataclass
class Side:
    """One side's project: rules in order by kind and file, contents by path, and project.yaml."""

    rules: dict[str, dict[str, list[Rule]]] = field(default_factory=lambda: {"redirects": {}, "pages": {}})
    bodies: dict[str, str] = field(default_factory=dict)
    settings: str = SETTINGS[0]

    def flat(self) -> Flat:
        """Return every rule with its place and, for a page, its resolved text."""
        found = {}
        for kind, files in self.rules.items():
            for path, rules in files.items():
                for rule in rules:
                    whole = {**rule, "place": path}
                    if "body" in rule:
                        whole["content"] = self.bodies[rule["body"]]
                    found[kind, rule[IDENTITY[kind]]] = whole
        return found

    def order(self, kind: str, path: str) -> list[str]:
        """Return the identities in a file, from top to bottom."""
        return [rule[IDENTITY[kind]] for rule in self.rules[kind].get(path, [])]

    def files(self, chance: random.Random) -> dict[str, bytes]:
        """Return the project as files, in a random style."""
        found = {"project.yaml": self.settings, **self.bodies}
        for kind, files in self.rules.items():
            for path, rules in files.items():
                found[path] = _dump(kind, path, rules, chance)
        return {path: text.encode() for path, text in found.items()}


def _dump(kind: str, path: str, rules: list[Rule], chance: random.Random) -> str:
    if not rules:
        return f"{kind}: []\n"
    return f"# {path}\n{kind}:\n" + "".join(_dump_rule(path, rule, chance) for rule in rules)


def _dump_rule(path: str, rule: Rule, chance: random.Random) -> str:
    fields = {name: value for name, value in rule.items() if name != "body"}
    if "body" in rule:
        fields["file"] = relpath(rule["body"], dirname(path) or ".")
    if chance.random() < 0.4:
        return f"  - {json.dumps(fields)}\n"
    return "  - " + "    ".join(f"{name}: {json.dumps(value)}\n" for name, value in fields.items())


# Edits


class EditGenerator:
    """One person's edits."""

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance

    def base(self) -> Side:
        """Return an initial project."""
        side = Side(bodies={})
        for _ in range(self._chance.randrange(3, 9)):
            self._add(side)
        _sweep(side)
        return side

    def edited(self, base: Side) -> Side:
        """Return the project after a handful of edits."""
        side = deepcopy(base)
        edits = (self._add, self._change, self._change, self._remove, self._move, self._shuffle)
        rarer = (self._rename_file, self._split_file, self._drop_file, self._rename_body, self._change_settings)
        for _ in range(self._chance.choice((0, 1, 2, 3, 4, 6))):
            self._chance.choice(edits if self._chance.random() < 0.75 else rarer)(side)
        _sweep(side)
        return side

    def _kind(self) -> str:
        return self._chance.choice(("redirects", "redirects", "pages"))

    def _pick(self, side: Side) -> tuple[str, str, int] | None:
        places = [
            (kind, path, at)
            for kind, files in side.rules.items()
            for path, rules in files.items()
            for at in range(len(rules))
        ]
        return self._chance.choice(places) if places else None

    def _add(self, side: Side) -> None:
        kind, identity = self._kind(), f"/{self._chance.choice('abcdefghijkl')}"
        if (kind, identity) in side.flat():
            return
        rule: Rule = {"type": "BASIC", IDENTITY[kind]: identity}
        if kind == "redirects":
            rule |= {"target": self._word(), "status": self._chance.choice(("FOUND", "PERMANENT_REDIRECT"))}
        else:
            rule |= {"contentType": self._chance.choice(("TEXT_PLAIN", "XML"))} | self._content(side)
        self._put(side, kind, self._chance.choice(FILES[kind]), rule)

    def _content(self, side: Side) -> Rule:
        """Return a new content: a text in the rule, a new file, or a file that another page names."""
        name = self._chance.choice(BODIES)
        if self._chance.random() < 0.5:
            return {"content": self._word()}
        side.bodies.setdefault(name, self._word())
        return {"body": name}

    def _put(self, side: Side, kind: str, path: str, rule: Rule) -> None:
        rules = side.rules[kind].setdefault(path, [])
        rules.insert(self._chance.randint(0, len(rules)), rule)

    def _word(self) -> str:
        return self._chance.choice(("/x", "/y", "/z", "/x#y", "/ü"))

    def _change(self, side: Side) -> None:
        found = self._pick(side)
        if found is None:
            return
        kind, path, at = found
        rule = side.rules[kind][path][at]
        name = self._chance.choice(
            ("target", "status", "type", "note", "tags") if kind == "redirects" else ("content", "contentType", "note")
        )
        if name == "content":
            self._change_content(side, rule)
        elif name in {"note", "tags"} and name in rule and self._chance.random() < 0.5:
            del rule[name]
        else:
            rule[name] = self._value(name)

    def _value(self, name: str) -> object:
        values: dict[str, tuple[object, ...]] = {
            "status": ("FOUND", "PERMANENT_REDIRECT", "MOVED_PERMANENT"),
            "type": ("BASIC", "REGEX"),
            "note": ("why", "off", "# no"),
            "tags": (["old"], ["old", "shop"]),
            "contentType": ("TEXT_PLAIN", "XML"),
        }
        return self._chance.choice(values[name]) if name in values else self._word()

    def _change_content(self, side: Side, rule: Rule) -> None:
        """Change the text in its rule or file, move it into a file, or take it out of its file."""
        what = self._chance.random()
        if "body" in rule and what < 0.7:
            side.bodies[rule["body"]] = self._word()
        elif "body" in rule:
            rule["content"] = side.bodies[rule.pop("body")]
        elif what < 0.7:
            rule["content"] = self._word()
        else:
            rule.pop("content")
            rule |= self._content(side)

    def _remove(self, side: Side) -> None:
        found = self._pick(side)
        if found:
            del side.rules[found[0]][found[1]][found[2]]

    def _move(self, side: Side) -> None:
        found = self._pick(side)
        if found:
            kind, path, at = found
            self._put(side, kind, self._chance.choice(FILES[kind]), side.rules[kind][path].pop(at))

    def _shuffle(self, side: Side) -> None:
        found = self._pick(side)
        if found:
            self._chance.shuffle(side.rules[found[0]][found[1]])

    def _rename_file(self, side: Side) -> None:
        found = self._pick(side)
        if found:
            kind, path, _ = found
            free = [name for name in (*FILES[kind], f"{kind}/new.yaml") if name not in side.rules[kind]]
            if free:
                side.rules[kind][self._chance.choice(free)] = side.rules[kind].pop(path)

    def _split_file(self, side: Side) -> None:
        found = self._pick(side)
        if found:
            kind, path, at = found
            rules, side.rules[kind][path] = side.rules[kind][path][at:], side.rules[kind][path][:at]
            side.rules[kind].setdefault(f"{kind}/split.yaml", []).extend(rules)

    def _drop_file(self, side: Side) -> None:
        found = self._pick(side)
        if found:
            del side.rules[found[0]][found[1]]

    def _rename_body(self, side: Side) -> None:
        if side.bodies:
            old, new = self._chance.choice(sorted(side.bodies)), self._chance.choice((*BODIES, "pages/new.txt"))
            if new not in side.bodies:
                side.bodies[new] = side.bodies.pop(old)
                for rules in side.rules["pages"].values():
                    for rule in rules:
                        if rule.get("body") == old:
                            rule["body"] = new

    def _change_settings(self, side: Side) -> None:
        side.settings = self._chance.choice(SETTINGS)


def is_reachable(path: str, body: str) -> bool:
    """Return whether a page in the file at `path` can name a content: in the same folder, or below."""
    return body.startswith(f"{dirname(path)}/" if dirname(path) else "")


def _sweep(side: Side) -> None:
    """Drop contents out of reach of their page, contents that no page names, and sometimes files without rules."""
    for path, rules in side.rules["pages"].items():
        for rule in rules:
            if "body" in rule and not is_reachable(path, rule["body"]):
                text = side.bodies[rule.pop("body")]
                beside = join(dirname(path), "moved.txt")
                if side.bodies.setdefault(beside, text) == text and len(text) % 2:
                    rule["body"] = beside
                else:
                    rule["content"] = text
    named = {rule.get("body") for rules in side.rules["pages"].values() for rule in rules}
    side.bodies = {path: text for path, text in side.bodies.items() if path in named}
    for files in side.rules.values():
        for path in [path for path, rules in files.items() if not rules and len(path) % 2]:
            del files[path]


# The expected merge


@dataclass(frozen=True)
class Expected:
    """The rules without a conflict, and every conflict as (kind, identity or path, field)."""

    rules: Flat
    conflicts: set[tuple[str, str, str]]


WIRE = {"place": "file", "body": "contentFile"}


def expected(base: Side, ours: Side, theirs: Side) -> Expected:
    """Merge by the textbook: per rule and field, one side's change is taken, and different changes are a conflict."""
    rules, conflicts = merge_rules(base.flat(), ours.flat(), theirs.flat())
    disputed = {key[:2] for key in conflicts}
    beyond = {key for key, rule in rules.items() if not is_reachable(rule["place"], rule.get("body") or rule["place"])}
    conflicts |= {(*key, WIRE["body"]) for key in beyond - disputed}
    conflicts |= _shared_bodies(rules, (base, ours, theirs), disputed | beyond)
    if len({base.settings, ours.settings, theirs.settings}) == 3:
        conflicts.add(("file", "project.yaml", ""))
    return Expected(rules, conflicts)


def merge_rules(base: Flat, ours: Flat, theirs: Flat) -> tuple[Flat, set[tuple[str, str, str]]]:
    """Merge the rules alone, as if no two pages shared a file of content."""
    rules: Flat = {}
    conflicts = set()
    for key in {*base, *ours, *theirs}:
        merged, disputed = _merge_rule(base.get(key), ours.get(key), theirs.get(key))
        conflicts |= {(*key, WIRE.get(name, name)) for name in disputed}
        if merged is not None:
            rules[key] = merged
    return rules, conflicts


def _merge_rule(base: Rule | None, ours: Rule | None, theirs: Rule | None) -> tuple[Rule | None, set[str]]:
    if theirs in (ours, base):
        return ours, set()
    if ours == base:
        return theirs, set()
    if ours is None or theirs is None:
        return ours, {""}
    merged, disputed = {}, set()
    for name in {*ours, *theirs}:
        value, is_disputed = merge_value((base or {}).get(name), ours.get(name), theirs.get(name))
        disputed |= {name} if is_disputed else set()
        if value is not None:
            merged[name] = value
    return merged, disputed


def merge_value(base: object, ours: object, theirs: object) -> tuple[object, bool]:
    """Return the merged value, and whether it is in conflict."""
    if theirs == base:
        return ours, False
    return (theirs, False) if ours == base else (ours, ours != theirs)


def _shared_bodies(
    rules: Flat, sides: tuple[Side, Side, Side], known: set[tuple[str, str]]
) -> set[tuple[str, str, str]]:
    """Give a shared file one value: pages that now name it with different texts take the merged text of the file."""
    conflicts = set()
    for path in {rule["body"] for rule in rules.values() if "body" in rule}:
        naming = [key for key, rule in rules.items() if rule.get("body") == path]
        if len({rules[key]["content"] for key in naming}) > 1:
            value, is_disputed = merge_value(*(side.bodies.get(path) for side in sides))
            if (is_disputed or value is None) and not known & {*naming}:
                conflicts.add(("file", path, ""))
            for key in naming:
                rules[key]["content"] = value
    return conflicts


def order_holds(found: list[str], base: list[str], ours: list[str], theirs: list[str]) -> bool:
    """Return whether the order in a merged file is correct; each list holds only identities of the merged file."""
    if [each for each in ours if each in theirs] == [each for each in theirs if each in ours]:
        return [each for each in found if each in ours] == ours and [each for each in found if each in theirs] == theirs
    common = {*base} & {*ours} & {*theirs}
    b, o, t = ([each for each in side if each in common] for side in (base, ours, theirs))
    return [each for each in found if each in common] == (t if o == b else o)


def body_of(path: str, named: str) -> str:
    """Return the path in the project of the file that a page names."""
    return normpath(join(dirname(path), named))
