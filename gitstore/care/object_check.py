"""The check of all objects of a repository: each one is read, then the history of every ref is followed.

It finds what `git fsck --strict` finds, and names the ref, commit and path that need a lost object.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from gitstore.care.findings import Finding, Severity
from gitstore.care.object_repairs import ObjectRepairs
from gitstore.care.reach import DAMAGED, Loss, mark_reached
from gitstore.git.alternates import borrows
from gitstore.git.object_log import object_path
from gitstore.git.packs.new_pack import DamagedObject
from gitstore.git.packs.object_form import find_fault
from gitstore.git.packs.stored_objects import LOOSE, Marks, Place, StoredObjects, open_objects, read_loose

_MOST_NAMED = 100
_FROM_BACKUP = "Fetch it from a clone (git --git-dir=REPOSITORY fetch --refetch CLONE BRANCH), or restore the namespace from a backup."


@dataclass
class _Damage:
    """An object with damaged bytes, and the file that they are in."""

    id: bytes
    path: Path
    reason: str


class ObjectCheck:
    """The check of one repository; `roots` are the objects that have to be there, by ref."""

    def __init__(self, namespace: str, repository: Path, roots: Mapping[str, str]) -> None:
        self._namespace = namespace
        self._repository = repository
        self._roots = roots

    def run(self) -> Iterator[Finding]:
        """Yield the findings: packs, objects, and what refs cannot reach."""
        with open_objects(self._repository) as objects:
            repairs = ObjectRepairs(self._repository)
            yield from self._check_packs(objects, repairs)
            kinds, damaged, malformed = Marks(objects), list[_Damage](), dict[bytes, str]()
            for number, _ in enumerate(objects.packs):
                self._read_pack(objects, number, kinds, damaged, malformed)
            self._read_loose(objects, kinds, damaged, malformed)
            losses = list[Loss]()
            reached = mark_reached(objects, self._roots, losses.append, kinds)
            lost = {loss.step.id for loss in losses}
            others = [each for each in damaged if each.id not in lost]
            yield from self._name_losses(losses[:_MOST_NAMED], objects, repairs)
            yield from (self._name_damage(each, objects, repairs) for each in others[:_MOST_NAMED])
            yield from self._name_rest(max(0, len(losses) - _MOST_NAMED) + max(0, len(others) - _MOST_NAMED))
            for object_id, fault in list(malformed.items())[:_MOST_NAMED]:
                place = objects.find(object_id)
                yield self._name_malformed(object_id, fault, is_used=bool(place and reached.get(object_id, place)))

    def _check_packs(self, objects: StoredObjects, repairs: ObjectRepairs) -> Iterator[Finding]:
        for path, reason in objects.damaged:
            yield self._finding(
                Severity.ERROR,
                "pack_unreadable",
                self._name(path),
                f"The pack or its index cannot be opened ({reason}), so no object in it can be read.",
                "Run `waypost doctor --fix`: it builds the index again, and saves what can be read of the pack.",
                lambda removed, path=path: repairs.rebuild(path, removed),
            )
        for pack in objects.packs:
            path = self._repository / "objects" / "pack" / f"{pack.name}.pack"
            for name, check in ((f"{pack.name}.idx", pack.index.check), (f"{pack.name}.pack", pack.entries.check)):
                try:
                    check()
                    continue
                except DamagedObject:
                    yield self._finding(
                        Severity.ERROR,
                        "pack_damaged",
                        self._name(path.with_name(name)),
                        "The bytes of the file are not those that were written: its checksum differs.",
                        "Run `waypost doctor --fix`: it writes what can be read of the pack as a new one. Check the disk.",
                        lambda removed, path=path: repairs.rebuild(path, removed),
                    )
                    break

    def _read_pack(
        self, objects: StoredObjects, number: int, kinds: Marks, damaged: list[_Damage], malformed: dict[bytes, str]
    ) -> None:
        pack = objects.packs[number]
        path = self._repository / "objects" / "pack" / f"{pack.name}.pack"
        try:
            entries = list(pack.in_order())
        except DamagedObject:
            entries = []
        for place, _, _ in entries:
            object_id = pack.index.id_at(place)
            try:
                kind, data = pack.read(place)
            except DamagedObject as ex:
                kinds.set(object_id, Place(number, place), DAMAGED)
                damaged.append(_Damage(object_id, path, str(ex)))
            else:
                kinds.set(object_id, Place(number, place), kind)
                _note_form(object_id, kind, data, malformed)

    def _read_loose(
        self, objects: StoredObjects, kinds: Marks, damaged: list[_Damage], malformed: dict[bytes, str]
    ) -> None:
        for object_id in objects.list_loose():
            path = object_path(objects.folders[0], object_id.hex())
            try:
                kind, data = read_loose(path, object_id)
            except FileNotFoundError:  # packed meanwhile
                continue
            except (DamagedObject, OSError) as ex:
                kinds.set(object_id, LOOSE, DAMAGED)
                damaged.append(_Damage(object_id, path, str(ex)))
            else:
                kinds.set(object_id, LOOSE, kind)
                _note_form(object_id, kind, data, malformed)

    def _name_losses(self, losses: list[Loss], objects: StoredObjects, repairs: ObjectRepairs) -> Iterator[Finding]:
        for step, reason in losses:
            other = repairs.find_copy(objects, step.id)
            code = "object_missing" if reason == "is missing" else "object_damaged"
            if other is None and self._is_back(step.id):
                continue
            yield self._finding(
                Severity.ERROR,
                code,
                f"object {step.id.hex()}",
                f"The object {reason}: {step.describe()}. What needs it cannot be read.",
                f"Run `waypost doctor --fix`: {other} has an intact copy."
                if other
                else _FROM_BACKUP + self._borrowed(),
                (lambda removed, object_id=step.id: repairs.restore(object_id, removed)) if other else None,
            )

    def _name_rest(self, count: int) -> Iterator[Finding]:
        if count:
            yield self._finding(
                Severity.ERROR,
                "more_objects",
                "objects",
                f"{count:,} more objects are lost or damaged.",
                "Repair those above first, or restore the namespace from a backup.",
            )

    def _is_back(self, object_id: bytes) -> bool:
        """Tell whether an object can be read after all: another program has packed it since the packs were opened."""
        with open_objects(self._repository) as fresh:
            return fresh.find_any(object_id) is not None

    def _borrowed(self) -> str:
        if not borrows(self._repository):
            return ""
        return " The repository borrows objects from another folder (objects/info/alternates): look there too."

    def _name_damage(self, damage: _Damage, objects: StoredObjects, repairs: ObjectRepairs) -> Finding:
        other = repairs.find_copy(objects, damage.id)
        is_pack = damage.path.suffix == ".pack"
        return self._finding(
            Severity.WARNING,
            "object_damaged",
            self._name(damage.path) if not is_pack else f"object {damage.id.hex()} in {self._name(damage.path)}",
            "The object is damaged. "
            + (
                f"Readers use an intact copy in {other}." if other else "No ref reaches it, so nothing served needs it."
            ),
            "Run `waypost doctor --fix`: it takes the damaged copy away."
            if not is_pack
            else "Run `waypost doctor --fix`.",
            (lambda removed: repairs.rebuild(damage.path, removed))
            if is_pack
            else (lambda removed: repairs.remove_loose(damage.id, damage.path, removed)),
        )

    def _name_malformed(self, object_id: bytes, fault: str, *, is_used: bool) -> Finding:
        return self._finding(
            Severity.WARNING if is_used else Severity.NOTE,
            "object_malformed",
            f"object {object_id.hex()}",
            f"Git wrote it as it is, but `git fsck` refuses its form: {fault}.",
            "Nothing is lost. Some clients refuse such a history; only a new history without it would change that.",
        )

    def _name(self, path: Path) -> str:
        return str(path.relative_to(self._repository)) if path.is_relative_to(self._repository) else str(path)

    def _finding(self, *parts: object) -> Finding:
        severity, code, place, meaning, action, *fix = parts
        return Finding(severity, code, place, meaning, action, self._namespace, *fix)  # type: ignore[arg-type]  # see callers


def _note_form(object_id: bytes, kind: int, data: bytes, malformed: dict[bytes, str]) -> None:
    fault = find_fault(kind, data)
    if fault:
        malformed[object_id] = fault
