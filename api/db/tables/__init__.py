"""The tables, as of the newest migration; a test compares both. They are imported together: `metadata` has all of them."""

from api.db.tables.account_tables import (
    api_tokens,
    generation,
    login_attempts,
    refresh_tokens,
    roles,
    sessions,
    token_viewers,
    user_roles,
    users,
)
from api.db.tables.agent_tables import agents
from api.db.tables.columns import metadata
from api.db.tables.event_tables import (
    audit,
    audit_checkpoints,
    audit_head,
    audit_repeats,
    deliveries,
    delivery_attempts,
    event_cursors,
    events,
    webhooks,
)
from api.db.tables.namespace_tables import content_faults, deleted_namespaces, highest_numbers, pushed_commits, reviews
from api.db.tables.openid_tables import openid_documents, openid_identities, openid_sessions, openid_used
from api.db.tables.upstream_tables import commit_statuses, host_webhooks, pull_requests, upstreams

__all__ = [
    "agents",
    "api_tokens",
    "audit",
    "audit_checkpoints",
    "audit_head",
    "audit_repeats",
    "commit_statuses",
    "content_faults",
    "deleted_namespaces",
    "deliveries",
    "delivery_attempts",
    "event_cursors",
    "events",
    "generation",
    "highest_numbers",
    "host_webhooks",
    "login_attempts",
    "metadata",
    "openid_documents",
    "openid_identities",
    "openid_sessions",
    "openid_used",
    "pull_requests",
    "pushed_commits",
    "refresh_tokens",
    "reviews",
    "roles",
    "sessions",
    "token_viewers",
    "upstreams",
    "user_roles",
    "users",
    "webhooks",
]
