"""`store.projects`: creation, settings and removal of projects, each as one publish."""

from collections.abc import Mapping

from gitstore.git.repository import Author
from gitstore.publish import projects
from gitstore.publish.advance import PublishResult
from gitstore.store.access import Component
from gitstore.yamlfiles.project_file import ProjectFile


class Projects(Component):
    """The projects of namespaces."""

    def create(self, namespace: str, name: str, settings: ProjectFile, author: Author) -> PublishResult:
        """Create and publish a project with empty lists."""
        return self._access.write(
            namespace,
            lambda compiler, transaction: projects.create_project(compiler, transaction, name, settings, author),
        )

    def change(self, namespace: str, name: str, changes: Mapping[str, str], author: Author) -> PublishResult:
        """Publish new settings of a project."""
        return self._access.write(
            namespace,
            lambda compiler, transaction: projects.change_project(compiler, transaction, name, author, dict(changes)),
        )

    def delete(self, namespace: str, name: str, author: Author, *, may_change_policy: bool = False) -> PublishResult:
        """Publish the removal of a project."""
        return self._access.write(
            namespace,
            lambda compiler, transaction: projects.delete_project(
                compiler, transaction, name, author, may_change_policy=may_change_policy
            ),
        )
