"""The tables of users, roles, tokens and logins; and the number of the last change of them."""

from sqlalchemy import JSON, BigInteger, Boolean, Column, Double, ForeignKey, Index, Integer, String, Table

from api.db.tables.columns import Moment, metadata

generation = Table(
    "generation",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("number", BigInteger, nullable=False),
)

users = Table(
    "users",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=True),
    Column("username", String(100), nullable=False),
    Column("username_key", String(100), nullable=False, unique=True),
    Column("firstname", String(100), nullable=False),
    Column("lastname", String(100), nullable=False),
    Column("password_hash", String(255), nullable=False),
    Column("active", Boolean, nullable=False),
    Column("created_at", Moment, nullable=False),
    Column("last_login_at", Moment),
    # Otherwise SQLite gives the largest id again after its row is deleted: https://www.sqlite.org/autoinc.html
    sqlite_autoincrement=True,  # a deleted user's token must never match the next user that is created
)

user_roles = Table(
    "user_roles",
    metadata,
    Column("user_id", ForeignKey("users.id", ondelete="CASCADE"), primary_key=True),
    Column("role", String(50), primary_key=True),
)

roles = Table(
    "roles",
    metadata,
    Column("name", String(50), primary_key=True),
    Column("description", String(200), nullable=False),
    Column("grants", JSON, nullable=False),
    Column("created_at", Moment, nullable=False),
)

# Reviews ask who saw the value of a token, also of a removed one, for longer than the audit trail may be kept.
token_viewers = Table(
    "token_viewers",
    metadata,
    Column("token_id", Integer, primary_key=True, autoincrement=False),
    Column("user_id", Integer, primary_key=True, autoincrement=False),
)

api_tokens = Table(
    "api_tokens",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=True),
    Column("name", String(100), nullable=False),
    Column("hash", String(64), nullable=False, unique=True),
    Column("preview", String(16), nullable=False),
    Column("grants", JSON, nullable=False),
    Column("expires_at", Moment),
    Column("created_at", Moment, nullable=False),
    Column("created_by", String(100), nullable=False),
    Column("last_used_at", Moment),
    Column("owner_id", Integer),  # of a user; null for a token that is no person's
    Column("role", String(50)),
    Column("previous_hash", String(64)),
    Column("previous_until", Moment),
    Index("api_tokens_by_owner", "owner_id"),
    Index("api_tokens_by_previous_hash", "previous_hash"),
    sqlite_autoincrement=True,
)

sessions = Table(
    "sessions",
    metadata,
    Column("id", String(32), primary_key=True),
    Column("user_id", ForeignKey("users.id", ondelete="CASCADE"), nullable=False),
    Column("created_at", Moment, nullable=False),
    Column("expires_at", Moment, nullable=False),
    Column("access_until", Moment, nullable=False),
    Column("revoked_at", Moment),
    Column("revoked_because", String(50)),
    Column("user_agent", String(200), nullable=False, server_default=""),
    Column("address", String(64)),
    Column("last_seen_at", Moment),  # null until a request after the login
    Index("sessions_by_user", "user_id"),
    Index("sessions_by_expiry", "expires_at"),
    Index("sessions_by_revocation", "revoked_at"),
)

refresh_tokens = Table(
    "refresh_tokens",
    metadata,
    Column("jti_hash", String(64), primary_key=True),
    Column("session_id", ForeignKey("sessions.id", ondelete="CASCADE"), nullable=False),
    Column("parent", String(64)),
    Column("kid", String(32), nullable=False),
    Column("issued_at", Moment, nullable=False),
    Column("expires_at", Moment, nullable=False),
    Column("used_at", Moment),
    Column("successor", String(64)),
    Index("refresh_tokens_by_session", "session_id"),
    Index("refresh_tokens_by_expiry", "expires_at"),
)

login_attempts = Table(
    "login_attempts",
    metadata,
    Column("key", String(64), primary_key=True),
    Column("paid_at", Double, nullable=False),
    Index("login_attempts_by_payment", "paid_at"),
)
