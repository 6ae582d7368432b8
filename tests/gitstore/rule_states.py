"""Small states of a project, drawn at random, in which rules answer, hide and chain each other."""

from hashlib import sha1

from hypothesis import strategies as st

from content.records.record import Page, Record, Redirect
from content.records.vocabulary import ContentType, Kind, PageType, RedirectStatus, RedirectType
from gitstore.compiled.segments.segment_store import SegmentStore
from gitstore.compiled.segments.snapshot import File, Snapshot, take_snapshot
from gitstore.git.modes import FILE_MODE
from gitstore.layout import BlobId, TreeId
from gitstore.yamlfiles.dump import new_file

_SEGMENTS = SegmentStore(None)
_PATHS = ["/a", "/%61", "/b", "/b?q", "/c", "/d", "/é", "/%C3%A9", "/x/1", "/x/2"]
_HOSTS = ["", "h.example", "other.example"]
_TARGETS = [*_PATHS[:6], "/x/1", "/end", "https://h.example/a", "https://h.example/b", "https://out.example/a"]
_PATTERNS = ["^/x/(.*)$", "^/x/1$", "^/(b|c)$", "^/a", "^/x.*", "^/x/1", "("]
_HOST_PATTERNS = [r"^h\.example/x", r"^h\.example/(.*)$"]
_statuses = st.sampled_from([RedirectStatus.FOUND, RedirectStatus.PERMANENT_REDIRECT])


@st.composite
def some_redirect(draw: st.DrawFn) -> Redirect:
    """Draw a redirect."""
    kind = draw(st.sampled_from([*[RedirectType.BASIC] * 4, *RedirectType]))
    if kind.is_exact:
        host = draw(st.sampled_from(_HOSTS[1:])) if kind.has_host else ""
        source = host + draw(st.sampled_from(_PATHS))
    else:
        source = draw(st.sampled_from(_HOST_PATTERNS if kind.has_host else _PATTERNS))
    targets = [target for target in _TARGETS if target.startswith("https:")] if kind.has_host else _TARGETS
    return Redirect(kind, source, draw(st.sampled_from(targets)), draw(_statuses))


@st.composite
def some_page(draw: st.DrawFn) -> Page:
    """Draw a page."""
    host = draw(st.sampled_from(_HOSTS))
    path = host + draw(st.sampled_from(_PATHS))
    return Page(PageType.BASIC_HOST if host else PageType.BASIC, path, "text", ContentType.TEXT_PLAIN)


class _Blobs(dict[BlobId, bytes]):
    """Files in memory."""

    def blob(self, blob_id: BlobId) -> bytes:
        """Return the content of a file."""
        return self[blob_id]


def snapshot(tree: str = "", /, **files: bytes) -> Snapshot:
    """Return the snapshot of a project with these files, and a test that fails."""
    named = {f"{name.replace('_', '/')}.yaml": data for name, data in files.items()}
    named |= {"project.yaml": b"project: {}\n", "tests.yaml": b"tests:\n  - {url: /a, status: 404}\n"}
    blobs = _Blobs({BlobId(sha1(data, usedforsecurity=False).hexdigest()): data for data in named.values()})
    ids = {data: blob for blob, data in blobs.items()}
    listed = [File(path, FILE_MODE, ids[data]) for path, data in named.items()]
    return take_snapshot("shop", TreeId(tree), listed, blobs, _SEGMENTS)


def state(redirects: list[Redirect], pages: list[Page], split: int = 0) -> Snapshot:
    """Return the snapshot of these records, in two files of redirects and one of pages."""
    lists: dict[str, tuple[Kind, list[Record]]] = {
        "redirects_1": (Kind.REDIRECTS, [*redirects[:split]]),
        "redirects_2": (Kind.REDIRECTS, [*redirects[split:]]),
        "pages": (Kind.PAGES, [*pages]),
    }
    return snapshot(**{name: new_file(kind, records, "flow") for name, (kind, records) in lists.items() if records})


redirect_lists = st.lists(some_redirect(), min_size=1, max_size=12, unique_by=lambda each: each.source)
page_lists = st.lists(some_page(), max_size=4, unique_by=lambda each: each.path)
