"""The verification of a project of a remote service, by nothing but its signed responses and trusted keys."""

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from http import HTTPStatus
from http.client import HTTPException
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple
from urllib.error import HTTPError, URLError
from urllib.parse import quote, unquote, urlsplit
from urllib.request import Request, build_opener

import orjson

from cli.console.exits import CommandFailed, InvalidUsage
from cli.content.compare.host_comments import NoRedirects
from content.records.printable import escape_unprintable
from gitstore.signatures.message_signature import InvalidMessage, SignedMessage, verify_message
from gitstore.signatures.public_key import InvalidKey, PublicKey
from gitstore.signatures.web_key import key_id, load_web_key

TOKEN = "WAYPOST_TOKEN"  # noqa: S105 - the name of a variable
KEYS_PATH = "/.well-known/waypost-keys"
_PROJECT = re.compile(r"/api/namespace/([^/]+)/project/([^/]+)")
_SECONDS = 30
_MOST_BYTES = 1 << 30
_WINDOW = 10_000
_HIDDEN = (HTTPStatus.FORBIDDEN, HTTPStatus.NOT_FOUND)


class _Answer(NamedTuple):
    """A response; the names of its headers are in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True, slots=True)
class VerifiedState:
    """The result of a verification: the fields of the manifest, its key, the lists that were compared, and the faults.

    `publish` has the fields of the publish that name people; empty where the token may not read the history.
    """

    manifest: Mapping[str, Any]
    key: str
    lists: Mapping[str, str]
    publish: Mapping[str, Any] = field(default_factory=dict)
    faults: Sequence[str] = ()

    def as_json(self) -> dict[str, Any]:
        """Return the result for scripts."""
        state = {
            name: self.manifest[name] for name in ("namespace", "project", "version", "publishNumber", "publishedAt")
        }
        return {**state, **self.publish, "keyId": self.key, "lists": self.lists, "verified": not self.faults}

    def lines(self) -> list[str]:
        """Return the result for people."""
        found = self.manifest
        lines = [
            f"{found['namespace']}/{found['project']}: publish {found['publishNumber']}, {found['publishedAt']}",
            f"  version       {found['version']} (the commit)",
            *(f"  {name:12}  {self.publish[key]}" for key, name in _PEOPLE.items() if self.publish.get(key)),
            f"  signed with   {self.key}",
            *(f"  {name:12}  {result}" for name, result in self.lists.items()),
        ]
        return [escape_unprintable(line) for line in lines]


_PEOPLE = {"publishedBy": "published by", "signedBy": "commit by"}


class Verifier:
    """A client of one project; `keys` is a file of trusted keys, None to trust those of the service."""

    def __init__(self, url: str, keys: Path | None) -> None:
        parts = urlsplit(url.rstrip("/"))
        found = _PROJECT.search(parts.path)
        if parts.scheme not in {"http", "https"} or found is None or not parts.netloc:
            raise InvalidUsage(
                "The URL is not that of a project. Give https://HOST/api/namespace/NAMESPACE/project/PROJECT."
            )
        self._place = unquote(found[1]), unquote(found[2])
        self._base = f"{parts.scheme}://{parts.netloc}{parts.path[: found.start()]}"
        self._project = f"{self._base}{found[0]}"
        self._token = os.environ.get(TOKEN, "")
        self._opener = build_opener(NoRedirects)
        self._keys = self._load_keys(keys)

    def verify(self, wanted: str, held: Mapping[str, Path | None]) -> VerifiedState:
        """Verify the manifest of a version, and lists by it: those in files, or those that the service sends."""
        at = f"/versions/{quote(wanted, safe='')}" if wanted else ""
        answer = self._get(f"{self._project}{at}/manifest?digests=runs")
        manifest, signed = self._signed(answer, "manifest")
        self._require_place(manifest, "manifest")
        if wanted and not is_version(manifest, wanted):
            raise CommandFailed("The manifest is of another version. Do not trust this service.")
        lists = {name: self._compare(manifest, name, file) for name, file in held.items()}
        faults = [
            f"The {name} are not those that were published: {lists[name]}." for name in lists if _is_fault(lists[name])
        ]
        return VerifiedState(manifest, key_id(signed.key), lists, self._find_publish(manifest), faults)

    def _load_keys(self, file: Path | None) -> list[PublicKey]:
        data = file.read_bytes() if file else self._require(self._get(f"{self._base}{KEYS_PATH}")).body
        try:
            keys = [load_web_key(each) for each in orjson.loads(data)["keys"]]
        except (ValueError, KeyError, TypeError, AttributeError, InvalidKey) as ex:
            raise CommandFailed(f"The keys of {file or self._base} are not a set of Ed25519 JSON Web Keys.") from ex
        if not keys:
            raise CommandFailed("There are no keys: this service signs nothing. Set signing_key there.")
        return keys

    def _signed(self, answer: _Answer, what: str) -> tuple[dict[str, Any], SignedMessage]:
        """Return the verified content of a response; raises CommandFailed where its signature does not count."""
        self._require(answer)
        try:
            signed = verify_message(answer.headers, answer.body, self._keys)
            found: dict[str, Any] = orjson.loads(answer.body)
        except InvalidMessage as ex:
            raise CommandFailed(f"The {what} is not verified. {ex}") from ex
        except ValueError as ex:
            raise CommandFailed(f"The {what} is not JSON.") from ex
        return found, signed

    def _require_place(self, found: Mapping[str, Any], what: str) -> None:
        if (found.get("namespace"), found.get("project")) != self._place:
            raise CommandFailed(f"The {what} is of another project. Do not trust this service.")

    def _find_publish(self, manifest: Mapping[str, Any]) -> dict[str, Any]:
        """Return who published, from the signed history; nothing where the token may not read it."""
        answer = self._get(f"{self._project}/history/{manifest['version']}")
        if answer.status in _HIDDEN:
            return {}
        found, _ = self._signed(answer, "history")
        self._require_place(found, "history")
        if found.get("version") != manifest["version"]:
            raise CommandFailed("The history is of another version. Do not trust this service.")
        return {name: found.get(name) for name in _PEOPLE}

    def _compare(self, manifest: Mapping[str, Any], name: str, file: Path | None) -> str:
        """Compare a list with the digests of its runs; return the result for people."""
        items = _load_items(file, name) if file else self._fetch_items(name, str(manifest["version"]))
        if items is None:
            return "not compared: the token may not read them"
        runs, total = manifest[name]["runs"], manifest[name]["total"]
        if len(items) != total:
            return f"{len(items):,} {_NOT_OF} {total:,}"
        rest = iter(items)
        is_equal = all(_digest(list(islice(rest, run["count"]))) == run["sha256"] for run in runs)
        return f"{total:,} as published" if is_equal else _FAULT

    def _fetch_items(self, name: str, version: str) -> list[Any] | None:
        found, total = list[Any](), 1
        while len(found) < total:
            window = f"limit={_WINDOW}&offset={len(found)}"
            answer = self._get(f"{self._project}/versions/{version}/{name}?{window}")
            if answer.status in _HIDDEN:
                return None
            page = orjson.loads(self._require(answer).body)
            total = page["total"] if page["items"] else 0
            found += page["items"]
        return found

    def _get(self, url: str) -> _Answer:
        headers = {"Accept": "application/json", "User-Agent": "waypost"}
        if self._token:
            headers["Authorization"] = f"Bearer {self._token}"
        try:
            with self._opener.open(Request(url, headers=headers), timeout=_SECONDS) as answer:  # noqa: S310 - the scheme was checked
                return _Answer(answer.status, _lower(answer.headers.items()), answer.read(_MOST_BYTES))
        except HTTPError as ex:
            with ex:
                return _Answer(ex.code, _lower(ex.headers.items()), ex.read(_WINDOW))
        except (URLError, HTTPException, OSError, ValueError) as ex:
            raise CommandFailed(f"{urlsplit(url).netloc} did not answer: {escape_unprintable(str(ex))[:200]}") from None

    def _require(self, answer: _Answer) -> _Answer:
        if answer.status != HTTPStatus.OK:
            hint = (
                f" Set {TOKEN} to a token that may read the project." if answer.status != HTTPStatus.NOT_FOUND else ""
            )
            raise CommandFailed(f"{urlsplit(self._base).netloc} answered {answer.status}.{hint}")
        return answer


_FAULT = "their digest is another one"
_NOT_OF = "in place of"
_LEAST_DIGITS = 7  # of a commit, as the API takes them: fewer are a publish number


def is_version(manifest: Mapping[str, Any], wanted: str) -> bool:
    """Tell whether a manifest is of a version: by its publish number, its commit, or seven digits or more of that."""
    is_commit = len(wanted) >= _LEAST_DIGITS and str(manifest["version"]).startswith(wanted.lower())
    return is_commit or wanted == str(manifest["publishNumber"])


def _is_fault(result: str) -> bool:
    return result == _FAULT or _NOT_OF in result


def _lower(headers: Sequence[tuple[str, str]]) -> dict[str, str]:
    return {name.lower(): value for name, value in headers}


def _digest(items: Sequence[Any]) -> str:
    """Return the digest of items as the manifest has it: each as compact JSON, and a comma."""
    return sha256(b"".join(orjson.dumps(item) + b"," for item in items)).hexdigest()


def _load_items(file: Path, name: str) -> list[Any]:
    """Read the items of a file: a list, or a list response with its `items`; raises InvalidUsage for one window of a longer list."""
    try:
        found = orjson.loads(file.read_bytes())
    except ValueError as ex:
        raise InvalidUsage(f"The file {file} is not JSON.") from ex
    items = found.get("items") if isinstance(found, dict) else found
    if not isinstance(items, list):
        raise InvalidUsage(f"The file {file} is neither a list of items, nor a response with `items`.")
    total = found.get("total") if isinstance(found, dict) else None
    if isinstance(total, int) and total > len(items):
        raise InvalidUsage(
            f"The file {file} has {len(items):,} of {total:,} {name}: one window of the list. Save the whole list, as with "
            f"{name}?limit={total}."
        )
    return items
