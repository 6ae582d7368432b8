"""The tables of OpenID Connect: identities, sessions, documents of the provider, and what may be used once."""

from collections import Counter
from datetime import datetime
from hashlib import sha256
from typing import NamedTuple

from sqlalchemy import Connection, delete, insert, select, update

from api.db.tables import openid_documents, openid_identities, openid_sessions, openid_used, sessions
from api.db.upserts import upsert


class Identity(NamedTuple):
    """A person as the provider knows them."""

    issuer: str
    subject: str


class ProviderSession(NamedTuple):
    """The part of a session that is the provider's; `refresh_token` is encrypted."""

    session_id: str
    issuer: str
    subject: str
    sid: str | None
    refresh_token: str | None
    checked_at: datetime


class Document(NamedTuple):
    """A document of the provider, as it was fetched."""

    body: str
    fetched_at: datetime


def find_identity(connection: Connection, identity: Identity) -> int | None:
    """Return the user of an identity; None if it is unknown."""
    query = select(openid_identities.c.user_id).where(
        openid_identities.c.issuer == identity.issuer, openid_identities.c.subject == identity.subject
    )
    found: int | None = connection.execute(query).scalar_one_or_none()
    return found


def add_identity(connection: Connection, identity: Identity, user_id: int, now: datetime) -> None:
    """Store the identity of a user."""
    connection.execute(insert(openid_identities).values(**identity._asdict(), user_id=user_id, created_at=now))


def find_subject(connection: Connection, issuer: str, user_id: int) -> str | None:
    """Return the subject of a user at an issuer; None if they have none."""
    query = select(openid_identities.c.subject).where(
        openid_identities.c.issuer == issuer, openid_identities.c.user_id == user_id
    )
    found: str | None = connection.execute(query.order_by(openid_identities.c.created_at).limit(1)).scalar_one_or_none()
    return found


def remove_identities(connection: Connection, issuer: str, user_id: int) -> int:
    """Remove the identities of a user at an issuer; return their number."""
    wanted = (openid_identities.c.issuer == issuer, openid_identities.c.user_id == user_id)
    return connection.execute(delete(openid_identities).where(*wanted)).rowcount


def add_session(connection: Connection, session: ProviderSession) -> None:
    """Store the part of a session that is the provider's."""
    connection.execute(insert(openid_sessions).values(session._asdict()))


def find_provider_session(connection: Connection, number: str) -> ProviderSession | None:
    """Return the provider's part of a session; None for a session by password."""
    row = connection.execute(select(openid_sessions).where(openid_sessions.c.session_id == number)).one_or_none()
    return None if row is None else ProviderSession(*row)


def find_person(connection: Connection, number: str) -> int | None:
    """Return the user of a session that was not ended, if its identity is still that of the user."""
    query = (
        select(sessions.c.user_id)
        .join(openid_sessions, openid_sessions.c.session_id == sessions.c.id)
        .join(
            openid_identities,
            (openid_identities.c.issuer == openid_sessions.c.issuer)
            & (openid_identities.c.subject == openid_sessions.c.subject)
            & (openid_identities.c.user_id == sessions.c.user_id),
        )
        .where(sessions.c.id == number, sessions.c.revoked_at.is_(None))
    )
    found: int | None = connection.execute(query).scalar_one_or_none()
    return found


def claim_session_check(connection: Connection, number: str, before: datetime, now: datetime) -> ProviderSession | None:
    """Return the session, if it was not ended and its provider last asked before `before`; of all callers exactly one gets it."""
    is_active = select(sessions.c.id).where(sessions.c.id == number, sessions.c.revoked_at.is_(None)).exists()
    due = (openid_sessions.c.session_id == number, openid_sessions.c.checked_at <= before, is_active)
    statement = update(openid_sessions).where(*due, openid_sessions.c.refresh_token.is_not(None))
    if connection.execute(statement.values(checked_at=now)).rowcount == 0:
        return None
    return find_provider_session(connection, number)


def release_session_check(connection: Connection, number: str, claimed_at: datetime, before: datetime) -> None:
    """Replace the time of a claim by an earlier one, so that the session is due again before the interval has passed."""
    own = (openid_sessions.c.session_id == number, openid_sessions.c.checked_at == claimed_at)
    connection.execute(update(openid_sessions).where(*own).values(checked_at=before))


def set_refresh_token(connection: Connection, number: str, token: str) -> None:
    """Store the next refresh token of the provider, encrypted."""
    connection.execute(
        update(openid_sessions).where(openid_sessions.c.session_id == number).values(refresh_token=token)
    )


def revoke_of_provider(connection: Connection, issuer: str, subject: str, sid: str, now: datetime) -> Counter[int]:
    """Revoke the sessions with a `sid` of the provider, or all of a subject without one; return their numbers by user id."""
    wanted = [openid_sessions.c.issuer == issuer]
    wanted += [openid_sessions.c.sid == sid] if sid else []
    wanted += [openid_sessions.c.subject == subject] if subject else []
    numbers = select(openid_sessions.c.session_id).where(*wanted)
    ended = sessions.c.id.in_(numbers) & sessions.c.revoked_at.is_(None)
    found = Counter(connection.execute(select(sessions.c.user_id).where(ended)).scalars())
    connection.execute(update(sessions).where(ended).values(revoked_at=now, revoked_because="logout at the provider"))
    return found


def note_logout(connection: Connection, issuer: str, subject: str, sid: str, expires_at: datetime) -> None:
    """Record a logout of the provider, in place of an earlier one, for logins that are on their way."""
    statement = upsert(connection, openid_used).values(key=_logout_key(issuer, subject, sid), expires_at=expires_at)
    connection.execute(statement.on_conflict_do_update(index_elements=["key"], set_={"expires_at": expires_at}))


def has_logout(connection: Connection, issuer: str, subject: str, sid: str, after: datetime) -> bool:
    """Tell whether a recorded logout, of the `sid`, the subject or both, expires later than `after`."""
    named = {(subject, sid), ("", sid), (subject, "")} - {("", "")}
    keys = [_logout_key(issuer, *each) for each in named]
    query = select(openid_used.c.key).where(openid_used.c.key.in_(keys), openid_used.c.expires_at > after)
    return connection.execute(query.limit(1)).first() is not None


def find_document(connection: Connection, url: str) -> Document | None:
    """Return a document that was fetched; None if none was."""
    query = select(openid_documents.c.body, openid_documents.c.fetched_at)
    row = connection.execute(query.where(openid_documents.c.url_hash == _hash(url))).one_or_none()
    return None if row is None else Document(*row)


def store_document(connection: Connection, url: str, document: Document) -> None:
    """Store a document in place of an earlier one."""
    statement = upsert(connection, openid_documents).values(url_hash=_hash(url), **document._asdict())
    connection.execute(statement.on_conflict_do_update(index_elements=["url_hash"], set_=document._asdict()))


def document_key(url: str) -> str:
    """Return the key under which the fetches of a document are counted."""
    return _hash(f"fetch {url}")


def use_once(connection: Connection, text: str, expires_at: datetime) -> bool:
    """Record the use of a text; False if it was used before."""
    statement = upsert(connection, openid_used).values(key=_hash(text), expires_at=expires_at)
    done = statement.on_conflict_do_nothing(index_elements=["key"]).returning(openid_used.c.key)
    return connection.execute(done).first() is not None


def sweep(connection: Connection, now: datetime) -> None:
    """Remove the records of uses that have expired."""
    connection.execute(delete(openid_used).where(openid_used.c.expires_at <= now))


def _logout_key(issuer: str, subject: str, sid: str) -> str:
    return _hash(f"logout of {[issuer, subject, sid]}")


def _hash(text: str) -> str:
    return sha256(text.encode(errors="surrogatepass")).hexdigest()
