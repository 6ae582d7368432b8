"""The composition root: builds the service from the settings."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from api.app.app import Application, create_app
from api.app.audit_keys import load_checkpoint_keys
from api.app.compat_routes import compat_routes
from api.app.content_routes import content_routes
from api.app.event_routes import notice_routes
from api.app.git_hosts import open_pulls
from api.app.git_routes import git_routes
from api.app.identity_routes import identity_routes
from api.app.manifest_signing import open_signer
from api.app.notifications import Notifications, open_notifications
from api.app.services import Services, open_services
from api.app.upstream_routes import upstream_routes
from api.auth.local_user import LocalUser
from api.auth.permissions.principal import OPERATOR
from api.auth.tokens.leaked_tokens import HOOK_LEAK, UPSTREAM_LEAK
from api.data.dashboard_files import read_dashboard
from api.data.preview import Preview
from api.data.restored_copy import RestoredCopy
from api.data.served_data import ServedData, data_check
from api.http.fast_heartbeats import FastHeartbeats
from api.http.fast_path import FastPath
from api.http.response.compression import CompressionCache
from api.http.response.signed_replies import ManifestSigner
from api.http.routing import Route
from api.interfaces import Dependencies
from api.metrics.exposition import DELIVERING, HEARTBEATS, STREAMS, SYNCING, SYNCS_DUE, UPSTREAM_AGE, UPSTREAMS, WAITING
from api.readiness import Fault, ReadyCheck
from api.runtime.health.content_check import ContentCheck
from api.runtime.health.data_monitor import DataMonitor
from api.runtime.health.disk_check import DiskCheck
from api.runtime.health.write_check import WriteCheck
from api.runtime.jobs.background import JobLimits, configure_jobs
from api.runtime.rate_counters import RateCounters
from api.runtime.serving.convergence import Convergence
from api.runtime.serving.long_poll import LongPolls
from api.runtime.serving.release_loader import ReleaseLoader
from api.runtime.serving.watcher import Watcher
from api.runtime.upkeep.audit_pruner import AuditPruner
from api.runtime.upkeep.audit_writer import AuditWriter
from api.runtime.upkeep.hook_note_sweeper import FoundTokenReader, HookNoteSweeper, NoteReader, PushReader
from api.runtime.upkeep.packer import Packer
from api.runtime.upkeep.prewarmer import Prewarmer
from api.runtime.upkeep.proposal_sweeper import ProposalSweeper
from api.runtime.upkeep.pushed_commit_sweeper import PushedCommitSweeper
from api.settings import Settings
from api.upstreams.host_reporter import HostReporter
from api.upstreams.pull_publishes import PullPublishes
from api.upstreams.upstream_syncer import UpstreamSyncer
from api.upstreams.upstreams import Upstreams
from gitstore.compiled.releases.release_file import limit_maps
from gitstore.errors import StoreError
from gitstore.store.store import Store, store_at

if TYPE_CHECKING:
    from api.openid.openid_logins import OpenIdLogins


def make_service(
    settings: Settings, data: ServedData, rate_counters: RateCounters | None = None, preview: Preview | None = None
) -> Application:
    """Create the application of one worker; call it after the fork, with rate counters made before it.

    While the data directory is lost, the application answers 503, and it creates nothing. If only the database cannot be
    read, this raises its error: the other workers still have users and tokens in memory.

    A preview answers every request as its local user, and has no fast path, which asks for tokens.
    """
    configure_jobs(JobLimits(settings.job_timeout, settings.job_memory))
    limit_maps(settings.release_maps)
    store = store_at(settings.data.absolute(), settings.pattern_limits, settings.push_hook, settings.signing_key)
    services = open_services(settings, create=False)
    _require_database(services, data)
    data.listen(services.directory.retry)
    parts = _build_parts(settings, store, services, data)
    compressed = CompressionCache()
    app = create_app(
        parts.dependencies(settings, preview), parts.routes(settings, compressed), rate_counters, parts.audit_writer
    )
    counters = app.collector.counters
    if preview is None and not settings.reads_per_minute:  # the fast path counts nothing
        app.fast_path = FastPath(services.directory, store.live, compressed, counters, data)
    if preview is None:
        app.fast_heartbeats = FastHeartbeats(services.directory, store.live, services.fleet.note, counters, data)
    app.shutdown_hooks = parts.shutdown_hooks()
    _show_gauges(app, parts.long_polls, services, parts.notifications, parts.audit_writer)
    _show_upstreams(app, parts.upstream_syncer)
    return app


class _Parts(NamedTuple):
    """The parts of one worker that its routes and background services share."""

    store: Store
    services: Services
    data: ServedData
    releases: ReleaseLoader
    long_polls: LongPolls
    watcher: Watcher
    checks: "_Checks"
    convergence: Convergence
    notifications: Notifications
    upstream_syncer: UpstreamSyncer
    pulls: PullPublishes
    signer: ManifestSigner
    audit_writer: AuditWriter

    def dependencies(self, settings: Settings, preview: Preview | None) -> Dependencies:
        """Return what the application needs, whatever its routes are."""
        background_services = (
            DataMonitor(self.data, self.watcher.restart),
            self.services.upkeep(),
            self.services.password_checks,
            self.audit_writer,
            AuditPruner(
                self.services.state.database,
                partial(load_checkpoint_keys, settings),
                self.services.clock,
                settings.audit_lifetime_days,
            ),
            self.releases,
            self.watcher,
            self.long_polls,
            self.convergence,
            self.notifications.event_scheduler,
            self.notifications.streams,
            self.notifications.webhook_dispatcher,
            Prewarmer(self.store, self.data),
            Packer(self.store.directory, self.data),
            ProposalSweeper(self.store, self.data),
            HookNoteSweeper(self.store, self.note_readers(), self.data),
            PushedCommitSweeper(self.store, self.services.state.database, self.data),
            self.upstream_syncer,
            HostReporter(self.pulls, self.data, RestoredCopy(settings.data).is_paused),
            *self.checks,
        )
        ready_checks = (
            data_check(self.data),
            RestoredCopy(settings.data).ready_check(),
            self.services.ready_check(),
            *self.checks.ready_checks(),
            self.upstream_syncer.ready_check(),
        )
        directory = self.services.directory
        return Dependencies(
            settings,
            LocalUser(directory, preview.user) if preview else directory,
            ready_checks=ready_checks,
            background_services=background_services,
            passwords=self.services.passwords(),
            csrf=None if preview else self.services.csrf(),
            leaks=self.services.search_leaks,
            data=self.data,
            audit_ends=self.audit_writer.ends,
            dashboard=read_dashboard(),
            preview=preview,
            require_applied=self.upstreams(settings).require_applied,
        )

    def routes(self, settings: Settings, compressed: CompressionCache) -> list[Route]:
        """Return all routes."""
        services, notifications = self.services, self.notifications
        return [
            *content_routes(
                self.store,
                self.releases,
                settings,
                compressed,
                self.long_polls,
                self.convergence,
                services.reviews(),
                services.namespace_records,
                self.pulls,
                self.signer,
                services.fleet,
            ),
            *identity_routes(services, self.releases, self.store.publishes, _open_openid(settings, services)),
            *notice_routes(self.releases, notifications.streams, notifications.webhooks),
            *git_routes(self.store, settings, services, self.audit_writer),
            *upstream_routes(self.releases, services, self.upstreams(settings)),
            *compat_routes(self.store, self.releases, services, compressed),
        ]

    def note_readers(self) -> list[NoteReader]:
        """Return the readers of what the hooks of pushes by path and SSH note."""
        found_tokens = FoundTokenReader(self.services.leaked_tokens(OPERATOR.actor(), HOOK_LEAK))
        return [found_tokens, PushReader(self.services.state.database)]

    def upstreams(self, settings: Settings) -> Upstreams:
        """Return the operations on upstreams."""
        is_paused = RestoredCopy(settings.data).is_paused
        return Upstreams(self.store, self.services.state, self.services.clock, settings.upstream_rules, is_paused)

    def shutdown_hooks(self) -> tuple[Callable[[], None], ...]:
        """Return what ends all waiting as soon as the worker has to stop."""
        return (
            self.long_polls.release,
            self.convergence.release,
            self.notifications.streams.release,
            self.notifications.webhook_dispatcher.release,
        )


def _open_openid(settings: Settings, services: Services) -> "OpenIdLogins | None":
    """Open the logins with the provider of the settings; None without one."""
    if not settings.openid_issuer:
        return None
    from api.app.openid import open_openid  # noqa: PLC0415 - a service without a provider starts without its libraries

    return open_openid(settings, services)


def _build_parts(settings: Settings, store: Store, services: Services, data: ServedData) -> _Parts:
    releases = ReleaseLoader(store, data.check)
    return _Parts(
        store,
        services,
        data,
        releases,
        LongPolls(releases),
        Watcher(store, releases, data),
        _Checks(ContentCheck(store, releases, data), DiskCheck(data), WriteCheck(store.directory, data)),
        Convergence(services.fleet, store.publishes),
        open_notifications(settings, store, releases, services, data),
        UpstreamSyncer(
            store,
            services.state.database,
            settings.upstream_rules,
            data,
            services.leaked_tokens(OPERATOR.actor(), UPSTREAM_LEAK),
            RestoredCopy(settings.data).is_paused,
        ),
        open_pulls(settings, store, services),
        open_signer(settings, releases),
        AuditWriter(services.state.database, services.clock),
    )


class _Checks(NamedTuple):
    """The checks of content and disks that run in the background."""

    content: ContentCheck
    disk: DiskCheck
    write: WriteCheck

    def ready_checks(self) -> Iterator[ReadyCheck]:
        """Yield the readiness checks of what they found."""
        yield self.content.ready_check()
        yield ReadyCheck("disk", self.disk.room.find, self.disk.room.age)
        yield ReadyCheck("write", self._find_unwritable, self.write.report.age)

    def _find_unwritable(self) -> list[Fault]:
        return [*self.disk.writing.find(), *self.write.report.find()]


def _show_gauges(
    app: Application,
    long_polls: LongPolls,
    services: Services,
    notifications: Notifications,
    audit_writer: AuditWriter,
) -> None:
    """Add to the metrics of the application what waits in this worker."""
    app.collector.show(WAITING, lambda: long_polls.count)
    app.collector.show(HEARTBEATS, lambda: services.fleet.heartbeats.pending)
    app.collector.show(STREAMS, lambda: notifications.streams.count)
    app.collector.show(DELIVERING, lambda: notifications.webhook_dispatcher.under_way)
    audit_writer.count_lost = app.collector.counters.add_lost_entries
    notifications.webhook_dispatcher.count = app.collector.counters.add_webhook_attempt


def _require_database(services: Services, data: ServedData) -> None:
    """Raise the error of a database that cannot be read, unless the data directory is lost with it."""
    try:
        services.check()
    except StoreError:
        if data.check() is None:
            raise


def _show_upstreams(app: Application, syncer: UpstreamSyncer) -> None:
    levels = syncer.levels
    app.collector.show_each(UPSTREAMS, levels.count_states)
    app.collector.show(UPSTREAM_AGE, levels.oldest_age)
    app.collector.show(SYNCING, lambda: levels.running)
    app.collector.show(SYNCS_DUE, lambda: levels.due)
    syncer.count = app.collector.counters.add_sync
