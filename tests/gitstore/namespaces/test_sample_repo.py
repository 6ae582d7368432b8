"""The sample namespace is the documented example: it has no problems, and shows every feature."""

from hashlib import sha1
from pathlib import Path

import pytest

from content.records.vocabulary import ContentType, Kind, PageType, RedirectStatus, RedirectType
from gitstore.compiled.segments.segment_store import SegmentStore
from gitstore.compiled.segments.snapshot import File, Snapshot, take_snapshot
from gitstore.compiled.validation.checks import check_snapshot
from gitstore.git.modes import FILE_MODE
from gitstore.layout import BlobId, TreeId, is_allowed_beside

SAMPLE = Path(__file__).parents[3] / "sample-repo"
PROJECTS = sorted(path.parent.name for path in SAMPLE.glob("*/project.yaml"))


class PlainFiles:
    """The files of a plain folder, by the hash of their content."""

    def __init__(self, folder: Path) -> None:
        self._data: dict[BlobId, bytes] = {}
        self.files = [
            File(path.relative_to(folder).as_posix(), FILE_MODE, self._keep(path.read_bytes()))
            for path in sorted(folder.rglob("*"))
            if path.is_file()
        ]

    def blob(self, blob_id: BlobId) -> bytes:
        """Return the content of a file."""
        return self._data[blob_id]

    def _keep(self, data: bytes) -> BlobId:
        blob = BlobId(sha1(data, usedforsecurity=False).hexdigest())
        self._data[blob] = data
        return blob


def sample(project: str) -> Snapshot:
    """Return a project of the sample namespace."""
    plain = PlainFiles(SAMPLE / project)
    return take_snapshot(project, TreeId(""), plain.files, plain, SegmentStore(None))


def test_there_are_a_shop_a_docs_site_and_a_company_site() -> None:
    assert PROJECTS == ["company", "docs", "shop"]


@pytest.mark.parametrize("project", PROJECTS)
def test_a_project_has_neither_errors_nor_warnings_and_its_own_tests_pass(project: str) -> None:
    snapshot = sample(project)
    assert [problem.text() for problem in check_snapshot(snapshot)] == []
    assert len(snapshot.expectations) >= 10


@pytest.mark.parametrize("project", PROJECTS)
def test_a_project_has_a_title_a_description_redirects_and_pages(project: str) -> None:
    snapshot = sample(project)
    assert snapshot.settings.title
    assert snapshot.settings.description
    assert snapshot.count(Kind.REDIRECTS) >= 10
    assert snapshot.count(Kind.PAGES) >= 2


def test_only_allowed_files_are_next_to_the_projects() -> None:
    beside = {f"{path.name}/" if path.is_dir() else path.name for path in SAMPLE.iterdir() if path.name not in PROJECTS}
    assert {name for name in beside if not is_allowed_beside(name)} == set()
    assert {"README.md", "CODEOWNERS", ".editorconfig", ".pre-commit-config.yaml", ".gitlab-ci.yml"} < beside


def test_every_word_of_the_vocabulary_has_an_example() -> None:
    snapshots = [sample(project) for project in PROJECTS]
    redirects = [placed.record for snapshot in snapshots for placed in snapshot.redirects()]
    pages = [placed.record for snapshot in snapshots for placed in snapshot.pages()]
    assert {redirect.type for redirect in redirects} == set(RedirectType)
    assert {redirect.status for redirect in redirects} == set(RedirectStatus)
    assert {page.type for page in pages} == set(PageType)
    assert {page.content_type for page in pages} == set(ContentType)
    assert {bool(page.content_file) for page in pages} == {True, False}


def test_only_reserved_hosts_are_named() -> None:
    """Hosts end with the reserved `.example`; the exceptions are names of vocabularies of XML and JSON Schema."""
    texts = [path.read_text(encoding="utf-8") for path in SAMPLE.rglob("*") if path.is_file()]
    urls = {
        part for text in texts for part in text.replace('"', " ").split() if part.startswith(("http://", "https://"))
    }
    hosts = {url.split("/")[2].partition("<")[0] for url in urls}
    assert {host for host in hosts if not host.endswith(".example")} <= {
        "www.sitemaps.org",
        "a9.com",
        "json-schema.org",
    }
