"""The two doors to the content of a namespace, one to look and one to write, and what is served behind them."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from gitstore import history
from gitstore.compiler import Compiler
from gitstore.directory import DataDirectory
from gitstore.live import Live, LiveNamespace, LiveProject
from gitstore.part_store import PartStore
from gitstore.repository import view
from gitstore.update import Update, update
from gitstore.versions import Version


class Doors:
    """What every part of the store needs: a namespace opened, a project found, a version told from a word."""

    def __init__(self, root: Path) -> None:
        self.directory = DataDirectory(root)
        self.live = Live(self.directory)
        self._parts: dict[str, PartStore] = {}

    def served(self, namespace: str) -> LiveNamespace:
        """What is served of a namespace now."""
        return self.live.peek(namespace) or self.live.refresh(namespace)

    def project(self, namespace: str, project: str) -> LiveProject:
        """What is served of a project now."""
        return self.served(namespace).project(project)

    def version(self, namespace: str, project: str, word: str) -> Version:
        """A version by publish number or SHA (7 digits or more)."""
        self.project(namespace, project)
        with self._reading(namespace) as compiler:
            return history.version_index(compiler, project).resolve(word)

    @contextmanager
    def _reading(self, namespace: str) -> Iterator[Compiler]:
        paths = self.directory.namespace(namespace)
        self.live.must_exist(namespace)
        with view(paths.repository) as repository:
            yield Compiler(paths, repository, self._part_store(namespace), only_reads=True)

    @contextmanager
    def _writing(self, namespace: str) -> Iterator[tuple[Compiler, Update]]:
        paths = self.directory.namespace(namespace)
        self.live.must_exist(namespace)
        with update(paths.repository) as opened:
            paths.bear_witness()
            yield Compiler(paths, opened, self._part_store(namespace)), opened

    def _part_store(self, namespace: str) -> PartStore:
        paths = self.directory.namespace(namespace)
        return self._parts.setdefault(namespace, PartStore(paths.parts, paths.kept))
