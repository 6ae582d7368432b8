"""The records of a project, and their mapping to and from wire names.

A record holds the fields as written: a redirect is identified by its source, a page by its path.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Generic, TypeVar

from content.records.vocabulary import (
    STATUS_BY_WORD,
    TYPE_BY_NAME,
    ContentType,
    Kind,
    PageType,
    RedirectStatus,
    RedirectType,
)


def identity_id(identity: str) -> str:
    """Return the API's id of a record, 16 hex digits: the head of the SHA-256 of its identity."""
    return sha256(identity.encode()).hexdigest()[:16]


def id_bytes(identity: str) -> bytes:
    """Return the API's id as 8 bytes."""
    return sha256(identity.encode()).digest()[:8]


@dataclass(frozen=True, slots=True)
class Redirect:
    """A redirect rule; `note` and `tags` are for people and never reach an agent."""

    type: RedirectType
    source: str
    target: str
    status: RedirectStatus
    note: str = ""
    tags: tuple[str, ...] = ()

    @property
    def identity(self) -> str:
        """The source, which identifies the redirect."""
        return self.source

    @property
    def id(self) -> str:
        """The API's id of the redirect."""
        return identity_id(self.source)

    def wire(self) -> dict[str, str]:
        """Return exactly the fields that an agent gets."""
        return {
            "type": self.type.value,
            "source": self.source,
            "target": self.target,
            "status": self.status.value,
        }

    def fields(self) -> dict[str, object]:
        """Return every field of a file by wire name; an empty note or tags are left out."""
        return {**self.wire(), **_annotations(self.note, self.tags)}


@dataclass(frozen=True, slots=True)
class Page:
    """A static page; `content_file` is the path of its content file, empty for inline content."""

    type: PageType
    path: str
    content: str
    content_type: ContentType
    note: str = ""
    tags: tuple[str, ...] = ()
    content_file: str = ""

    @property
    def identity(self) -> str:
        """The path, which identifies the page."""
        return self.path

    @property
    def id(self) -> str:
        """The API's id of the page."""
        return identity_id(self.path)

    def wire(self) -> dict[str, str]:
        """Return exactly the fields that an agent gets."""
        return {
            "type": self.type.value,
            "path": self.path,
            "content": self.content,
            "contentType": self.content_type.value,
        }

    def fields(self) -> dict[str, object]:
        """Return every field by wire name, the content as text; an empty note or tags are left out."""
        return {**self.wire(), **_annotations(self.note, self.tags)}


Record = Redirect | Page


def _annotations(note: str, tags: tuple[str, ...]) -> dict[str, object]:
    return {**({"note": note} if note else {}), **({"tags": list(tags)} if tags else {})}


def redirect_of(fields: Mapping[str, Any]) -> Redirect:
    """Return a redirect from schema-valid fields by wire name (status: a name, or a code as int or text)."""
    return Redirect(
        TYPE_BY_NAME[fields["type"]],
        fields["source"],
        fields["target"],
        STATUS_BY_WORD[str(fields["status"])],
        fields.get("note", ""),
        tuple(fields.get("tags", ())),
    )


def page_of(fields: Mapping[str, Any], content_file: str = "") -> Page:
    """Return a page from schema-valid fields by wire name, with the content as text."""
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
    """Return a record of a kind from schema-valid fields by wire name."""
    return redirect_of(fields) if kind is Kind.REDIRECTS else page_of(fields)


R_co = TypeVar("R_co", bound=Record, covariant=True)


@dataclass(frozen=True, slots=True)
class Placed(Generic[R_co]):
    """A record and its location: file (path in the namespace), line from 1, position among its kind in the project."""

    record: R_co
    file: str = ""
    line: int = 0
    position: int = 0
