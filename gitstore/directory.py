"""The data directory: the paths of each namespace's repository and compiled files."""

from dataclasses import dataclass
from pathlib import Path

from content.records.names import is_name
from gitstore.errors import Broken, NotFound

IDENTITY_FILE = ".identity"  # in each folder of a data directory that was served once
_MARKER = "namespace"
_REPOSITORIES = "repos"
_CLOSED = 0o700
_IDENTIFIED = (_REPOSITORIES, "compiled")  # other folders, such as that of archives, are created when they are needed


def make_folder(folder: Path, levels: int = 1) -> None:
    """Create a folder, and up to `levels` - 1 missing parents; FileNotFoundError where more are missing.

    A folder that only a person or the first start creates, such as `compiled`, is so never created by a write into a
    data directory that was lost meanwhile. Raises Broken where an empty folder is in the place of a lost one.
    """
    if folder.is_dir():
        return
    _require_own(folder.parent)
    try:
        folder.mkdir(exist_ok=True)
    except FileNotFoundError:
        if levels == 1:
            raise
        make_folder(folder.parent, levels - 1)
        folder.mkdir(exist_ok=True)


def _require_own(folder: Path) -> None:
    """Raise Broken if a folder of a data directory has lost the identity that the repositories beside it have."""
    repositories = folder.parent / _REPOSITORIES
    if folder.name not in _IDENTIFIED:
        return
    if (repositories / IDENTITY_FILE).exists() and not (folder / IDENTITY_FILE).exists():
        raise Broken(
            f"The folder {folder.name} of the data directory is another one than before. Mount or restore it, or restart the "
            "service, which creates it again."
        )


@dataclass(frozen=True, slots=True)
class NamespacePaths:
    """The two folders of one namespace: the bare repository (truth) and the compiled files (cache)."""

    name: str
    repository: Path
    compiled: Path

    @property
    def segments(self) -> Path:
        """One compiled segment for each blob."""
        return self.compiled / "parts"

    @property
    def archive(self) -> Path:
        """One compressed segment for each blob that was ever published."""
        return self.compiled / "kept"

    @property
    def outlines(self) -> Path:
        """A folder for each project with many files of rules: what lists and look-ups need of them."""
        return self.compiled / "outlines"

    @property
    def validations(self) -> Path:
        """The log of validated trees."""
        return self.compiled / "judged"

    @property
    def prepared(self) -> Path:
        """The progress of the preparation for rollbacks, by project."""
        return self.compiled / "prepared"

    @property
    def releases(self) -> Path:
        """One compiled release per project tree."""
        return self.compiled / "releases"

    @property
    def unfolded(self) -> Path:
        """One empty file for each project whose release has so many changes that it needs a new base."""
        return self.compiled / "unfolded"

    @property
    def manifests(self) -> Path:
        """One manifest per release commit."""
        return self.compiled / "manifests"

    @property
    def put_off(self) -> Path:
        """The publishes since old releases were last removed."""
        return self.compiled / "uncleaned"

    @property
    def lints(self) -> Path:
        """The lints of recently checked states."""
        return self.compiled / "lint"

    @property
    def draft_counts(self) -> Path:
        """The counts of the changes of each draft, as it was counted last."""
        return self.compiled / "counts"

    @property
    def clones(self) -> Path:
        """The packs of recent clones."""
        return self.compiled / "clones"

    @property
    def marker(self) -> Path:
        """A file that marks the namespace as existing, even if its repository is missing on disk."""
        return self.compiled / _MARKER

    @property
    def served(self) -> Path:
        """The record of the release commit that was served last."""
        return self.compiled / "served"

    def write_marker(self) -> None:
        """Write the marker. Call it only under the repository's lock, so that no deletion runs at the same time."""
        if not self.marker.exists():
            make_folder(self.compiled)
            self.marker.touch()

    @property
    def versions(self) -> Path:
        """One index of published versions per project."""
        return self.compiled / "versions"

    @property
    def changes(self) -> Path:
        """One log of changes per project."""
        return self.compiled / "changes"


@dataclass(frozen=True, slots=True)
class DataDirectory:
    """The root of all data that the service keeps."""

    root: Path

    @property
    def repositories(self) -> Path:
        """The folder of bare repositories, `<namespace>.git` each."""
        return self.root / _REPOSITORIES

    @property
    def compiled(self) -> Path:
        """The folder of compiled files, a folder for each namespace."""
        return self.root / "compiled"

    @property
    def trash(self) -> Path:
        """The folder of deleted namespaces, each complete, until it is restored."""
        return self.root / "trash"

    def create(self) -> None:
        """Create the folders that do not exist; without them no namespace can be created.

        A new data directory is closed to other users of the machine, since it has secrets; one that exists keeps its mode.
        """
        self.root.mkdir(_CLOSED, parents=True, exist_ok=True)
        for folder in (self.repositories, self.compiled):
            folder.mkdir(exist_ok=True)

    def namespace(self, name: str) -> NamespacePaths:
        """Return the paths of a namespace by its exact name. Raises NotFound if the text is not a valid name."""
        if not is_name(name):
            raise NotFound(f"There is no namespace {name[:60]!r}.")
        return NamespacePaths(name, self.repositories / f"{name}.git", self.compiled / name)

    def namespaces(self) -> list[str]:
        """List all namespaces, sorted. One whose repository is missing, without a deletion, counts."""
        found = {path.name.removesuffix(".git") for path in self.repositories.glob("*.git")}
        markers = {path.parent.name for path in self.compiled.glob(f"*/{_MARKER}")}
        return sorted(name for name in found | markers if is_name(name))
