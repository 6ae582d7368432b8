"""The data directory: where each namespace's repository and compiled files stand on disk."""

from dataclasses import dataclass
from pathlib import Path

from content.names import is_name
from gitstore.errors import NotFound

_WITNESS = "namespace"


@dataclass(frozen=True, slots=True)
class NamespacePaths:
    """The two folders of one namespace: the bare repository (truth) and the compiled files (cache)."""

    name: str
    repository: Path
    compiled: Path

    @property
    def parts(self) -> Path:
        """One compiled part per blob."""
        return self.compiled / "parts"

    @property
    def kept(self) -> Path:
        """One packed part per blob that was ever published."""
        return self.compiled / "kept"

    @property
    def judged(self) -> Path:
        """Which trees were found right."""
        return self.compiled / "judged"

    @property
    def prepared(self) -> Path:
        """How far going back is prepared, by project."""
        return self.compiled / "prepared"

    @property
    def releases(self) -> Path:
        """One compiled release per project tree."""
        return self.compiled / "releases"

    @property
    def manifests(self) -> Path:
        """One manifest per release commit."""
        return self.compiled / "manifests"

    @property
    def witness(self) -> Path:
        """A file that says that there is such a namespace, even if its repository is gone from disk."""
        return self.compiled / _WITNESS

    def bear_witness(self) -> None:
        """Write that file; only under the repository's lock, so that no deletion is under way."""
        if not self.witness.exists():
            self.compiled.mkdir(parents=True, exist_ok=True)
            self.witness.touch()

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
    """The root of everything that the service keeps."""

    root: Path

    @property
    def repositories(self) -> Path:
        """The folder of bare repositories, `<namespace>.git` each."""
        return self.root / "repos"

    @property
    def trash(self) -> Path:
        """Where deleted namespaces are moved; nothing here is ever read again."""
        return self.root / "trash"

    def namespace(self, name: str) -> NamespacePaths:
        """The paths of a namespace by its exact name; NotFound where the text is no name at all."""
        if not is_name(name):
            raise NotFound(f"There is no namespace {name[:60]!r}.")
        return NamespacePaths(name, self.repositories / f"{name}.git", self.root / "compiled" / name)

    def namespaces(self) -> list[str]:
        """The names of all namespaces, sorted; one whose repository is gone without having been deleted counts."""
        found = {path.name.removesuffix(".git") for path in self.repositories.glob("*.git")}
        witnesses = {path.parent.name for path in (self.root / "compiled").glob(f"*/{_WITNESS}")}
        return sorted(name for name in found | witnesses if is_name(name))
