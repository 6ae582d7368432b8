"""`store.publishes`: publishing, rolling back, and the history of both."""

from collections.abc import Collection, Iterable
from contextlib import suppress
from dataclasses import replace

from content.records.vocabulary import Kind
from gitstore.comparison.file_changes import FileChange
from gitstore.compiled.indexes.versions import Version
from gitstore.compiled.segments.changes import ChangesByKind
from gitstore.drafts.drafts import DraftName
from gitstore.errors import BadRequest, Invalid, LostRace, NotFound
from gitstore.git.after_commit import after_commit
from gitstore.git.repository import Author
from gitstore.history import history
from gitstore.history.history import PublishRecord
from gitstore.history.merged_commits import MergedCommits, find_merged_commits, read_merged_commits
from gitstore.history.rule_history import RuleEvent, read_rule_history
from gitstore.layout import CommitId
from gitstore.publish import publishing
from gitstore.publish.advance import PublishResult
from gitstore.publish.approval import VerdictSource, no_verdicts
from gitstore.publish.publishing import PublishRequest, RollbackRequest
from gitstore.publish.release_changes import ReleaseChanges, list_release_changes
from gitstore.store.access import Component
from gitstore.upstream.pull_branch import PullCommit, follow_merged, prepare_pull, push_pull, render_pull
from gitstore.upstream.upstream_settings import read_settings
from gitstore.wire.client.remote_errors import RemoteMoved

_PULL_TRIES = 3


class Publishes(Component):
    """The publishes of projects, numbered from 1."""

    def publish(self, namespace: str, request: PublishRequest, verdicts: VerdictSource = no_verdicts) -> PublishResult:
        """Publish a draft; `verdicts` returns the reviewers' verdicts and is called under the lock."""
        published = self._access.write(
            namespace, lambda compiler, opened: publishing.publish(compiler, opened, request, verdicts)
        )
        return self.with_never_answering(namespace, request.name.project, published)

    def push_pull(
        self,
        namespace: str,
        request: PublishRequest,
        verdicts: VerdictSource = no_verdicts,
        known: Collection[str] = (),
        branch: str = "",
    ) -> PullCommit | PublishResult:
        """Publish a draft as a branch of the upstream, for a pull request; `known` are earlier commits of that branch.

        `branch` is empty for the one that is named after the draft. Release does not move. The request of a publish that is on release already gets that one.
        """
        for _ in range(_PULL_TRIES):
            made = self._access.write(
                namespace, lambda compiler, opened: prepare_pull(compiler, opened, request, verdicts)
            )
            synced = self._access.synced(namespace)
            if not isinstance(made, PullCommit) or synced is None:
                return made
            made = replace(made, branch=branch or made.branch)
            try:
                commit = push_pull(synced, made, known)
            except RemoteMoved:  # a folder of the upstream, which has moved
                self._access.follow_upstream(namespace)
                continue
            with self._access.reading(namespace) as compiler:
                return replace(made, commit=commit, diff=render_pull(compiler, request.name.project, made))
        raise LostRace("Others change the upstream without a pause. Nothing was published; try again in a moment.")

    def follow_merged_pull(self, namespace: str, name: DraftName) -> bool:
        """End a draft whose pull request was merged and that holds nothing else; return whether it has ended."""
        return self._access.write(namespace, lambda compiler, opened: follow_merged(compiler, opened, name))

    def roll_back(
        self, namespace: str, project: str, word: str, publisher: Author, message: str = "", expected: str = ""
    ) -> PublishResult:
        """Publish the rules and pages of an earlier version again; StaleVersion unless the newest one is `expected`."""
        version = self._access.version(namespace, project, word)
        newest = self._access.version(namespace, project, expected) if expected else None
        request = RollbackRequest(project, version, publisher, message, newest)
        published = self._access.write(
            namespace, lambda compiler, opened: publishing.roll_back(compiler, opened, request)
        )
        return self.with_never_answering(namespace, project, published)

    def with_never_answering(self, namespace: str, project: str, published: PublishResult) -> PublishResult:
        """Add the number of rules that can never answer, without the lock; the publish is valid whatever happens here."""
        if published.tree is None:
            return published
        with after_commit("the count of rules that never answer"), self._access.reading(namespace) as compiler:
            never = compiler.count_never_answering(project, published.tree)
            return replace(published, never_answer=never)
        return published

    def history(self, namespace: str, project: str, offset: int, limit: int) -> tuple[list[PublishRecord], int]:
        """Return a window of a project's publishes, newest first, and their total."""
        self._access.project(namespace, project)
        with self._access.reading(namespace) as compiler:
            return history.list_publishes(compiler, project, offset, limit)

    def search(
        self, namespace: str, project: str, text: str, offset: int, limit: int
    ) -> tuple[list[PublishRecord], int, int]:
        """Return a window of a project's publishes that have a text, newest first, their total, and how many were searched."""
        self._access.project(namespace, project)
        with self._access.reading(namespace) as compiler:
            return history.search_publishes(compiler, project, text, offset, limit)

    def rule_history(
        self, namespace: str, project: str, kind: Kind, identity: str, window: slice, timeout: float = float("inf")
    ) -> tuple[list[RuleEvent], int]:
        """Return a window of the publishes that changed one record, newest first, and their total.

        Busy where reading a history for the first time takes longer than `timeout` seconds; progress is kept.
        """
        self._access.project(namespace, project)
        with self._access.reading(namespace) as compiler:
            return read_rule_history(compiler, project, kind, identity, window, timeout)

    def after(self, namespace: str, project: str, number: int, limit: int) -> list[tuple[PublishRecord, Version]]:
        """Return the publishes after a number, oldest first, also of a deleted project. Change counts are left out."""
        with self._access.reading(namespace) as compiler:
            return history.publishes_after(compiler, project, number, limit)

    def release_changes(self, namespace: str, since: str, limit: int) -> ReleaseChanges:
        """Return the changes of policies and signers in the commits of release after one, oldest first."""
        upstream = read_settings(self._access.directory.namespace(namespace).repository)
        with self._access.reading(namespace) as compiler:
            has_source = upstream is not None and upstream.is_source
            return list_release_changes(compiler, since, limit, has_source=has_source)

    def read(self, namespace: str, project: str, word: str) -> tuple[PublishRecord, ChangesByKind, list[FileChange]]:
        """Read one publish with its changes, rule by rule, and the other files that it changed."""
        version = self._access.version(namespace, project, word)
        with self._access.reading(namespace) as compiler:
            index = history.version_index(compiler, project)
            changes = history.publish_changes(compiler, project, index, version)
            files = history.publish_files(compiler, project, index, version)
            return history.read_publish(compiler, project, index, version), changes, files

    def merged_commits(self, namespace: str, project: str, word: str) -> MergedCommits:
        """Return the commits that a publish brought to release, on which the remarks of its review are."""
        version = self._access.version(namespace, project, word)
        with self._access.reading(namespace) as compiler:
            return read_merged_commits(compiler.repository, version.commit)

    def list_merged_commits(self, namespace: str, versions: Collection[CommitId]) -> dict[CommitId, MergedCommits]:
        """Return the commits that each of these publishes brought to release."""
        with self._access.reading(namespace) as compiler:
            return {commit: find_merged_commits(compiler.repository, commit) for commit in versions}

    def identities(
        self, namespace: str, project: str, word: str, wanted: Collection[tuple[Kind, str]]
    ) -> dict[tuple[Kind, str], str]:
        """Return the sources and paths of records by kind and id, as after a publish, else as before it.

        A side that cannot be read has none: an old one may be invalid.
        """
        found: dict[tuple[Kind, str], str] = {}
        if not wanted:
            return found
        version = self._access.version(namespace, project, word)
        with self._access.reading(namespace) as compiler:
            before = history.version_index(compiler, project).tree_before(version)
            for tree in filter(None, (version.tree, before)):
                missing = [each for each in wanted if each not in found]
                if missing:
                    with suppress(Invalid):
                        side = compiler.snapshot(project, tree)
                        placed = {each: side.find(*each) for each in missing}
                        found |= {each: one.record.identity for each, one in placed.items() if one}
        return found

    def version(self, namespace: str, project: str, word: str) -> Version:
        """Find a version by publish number or SHA (7 digits or more)."""
        return self._access.version(namespace, project, word)

    def same_history(self, namespace: str, project: str, reported: Iterable[tuple[str, int]]) -> set[str]:
        """Return the commits among pairs of SHA and publish number that have this number in the project's history.

        A rewound release, or another namespace of the name, may have given the number to another commit.
        """
        self._access.project(namespace, project)
        with self._access.reading(namespace) as compiler:
            index = history.version_index(compiler, project)
            return {commit for commit, number in reported if index.has(number, CommitId(commit))}

    def resolve_version(self, namespace: str, project: str, reported: int | str) -> tuple[str, int] | None:
        """Resolve the version that an agent reported to its SHA and publish number; None where it is unknown."""
        try:
            found = self._access.version(namespace, project, str(reported).strip())
        except (NotFound, BadRequest):
            return None
        return found.commit, found.number
