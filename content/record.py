"""The records that a project holds, and their one mapping to and from wire names.

A record is what a person wrote: a redirect is known by its source, a page by its path.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Generic, TypeVar

from content.vocabulary import STATUS_BY_WORD, ContentType, Kind, PageType, RedirectStatus, RedirectType


def identity_id(identity: str) -> str:
    """The 16 hex digits that the API knows a record by: the head of the SHA-256 of its identity."""
    return sha256(identity.encode()).hexdigest()[:16]


def id_bytes(identity: str) -> bytes:
    """The same as 8 bytes."""
    return sha256(identity.encode()).digest()[:8]


@dataclass(frozen=True, slots=True)
class Redirect:
    """One redirect rule; `note` and `tags` are for people and never reach an agent."""

    type: RedirectType
    source: str
    target: str
    status: RedirectStatus
    note: str = ""
    tags: tuple[str, ...] = ()

    @property
    def identity(self) -> str:
        """What makes this redirect this redirect: its source."""
        return self.source

    @property
    def id(self) -> str:
        """The API's id of the redirect."""
        return identity_id(self.source)

    def wire(self) -> dict[str, str]:
        """Exactly the fields of the contract, as an agent gets them."""
        return {
            "type": self.type.value,
            "source": self.source,
            "target": self.target,
            "status": self.status.value,
        }

    def fields(self) -> dict[str, object]:
        """Every field that a file may hold, by wire name; an empty note or tags left out."""
        return {**self.wire(), **_notes(self.note, self.tags)}


@dataclass(frozen=True, slots=True)
class Page:
    """One static page; `content_file` names the file its content stands in, empty where it is inline."""

    type: PageType
    path: str
    content: str
    content_type: ContentType
    note: str = ""
    tags: tuple[str, ...] = ()
    content_file: str = ""

    @property
    def identity(self) -> str:
        """What makes this page this page: its path."""
        return self.path

    @property
    def id(self) -> str:
        """The API's id of the page."""
        return identity_id(self.path)

    def wire(self) -> dict[str, str]:
        """Exactly the fields of the contract, as an agent gets them."""
        return {
            "type": self.type.value,
            "path": self.path,
            "content": self.content,
            "contentType": self.content_type.value,
        }

    def fields(self) -> dict[str, object]:
        """Every field of the page by wire name, the content as text; empty note or tags left out."""
        return {**self.wire(), **_notes(self.note, self.tags)}


Record = Redirect | Page


def _notes(note: str, tags: tuple[str, ...]) -> dict[str, object]:
    return {**({"note": note} if note else {}), **({"tags": list(tags)} if tags else {})}


def redirect_of(fields: Mapping[str, Any]) -> Redirect:
    """A redirect from wire names; the fields have passed the schema (status: a name, or a code as int or text)."""
    return Redirect(
        RedirectType[fields["type"]],
        fields["source"],
        fields["target"],
        STATUS_BY_WORD[str(fields["status"])],
        fields.get("note", ""),
        tuple(fields.get("tags", ())),
    )


def page_of(fields: Mapping[str, Any], content_file: str = "") -> Page:
    """A page from wire names; the fields have passed the schema and hold the content as text."""
    return Page(
        PageType(fields["type"]),
        fields["path"],
        fields["content"],
        ContentType(fields["contentType"]),
        fields.get("note", ""),
        tuple(fields.get("tags", ())),
        content_file,
    )


def record_of(kind: Kind, fields: Mapping[str, Any]) -> Record:
    """A record of a kind from wire names that have passed the schema."""
    return redirect_of(fields) if kind is Kind.REDIRECTS else page_of(fields)


R_co = TypeVar("R_co", bound=Record, covariant=True)


@dataclass(frozen=True, slots=True)
class Placed(Generic[R_co]):
    """A record and where it stands: file (path in the namespace), line from 1, position among its kind in the project."""

    record: R_co
    file: str = ""
    line: int = 0
    position: int = 0
