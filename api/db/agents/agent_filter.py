"""Filters of the agents of a project: by a part of the name, and by state."""

from datetime import datetime
from enum import StrEnum
from typing import NamedTuple

from sqlalchemy import ColumnElement, and_, false, func, or_

from api.db.tables import agents

_ERROR = "error"


class AgentState(StrEnum):
    """The states of agents; each agent is in exactly one."""

    CURRENT = "current"
    BEHIND = "behind"
    FAILING = "failing"
    SILENT = "silent"


class AgentFilter(NamedTuple):
    """A part of the name in any case, and a state; `served` is the version of which an agent is current."""

    text: str = ""
    state: AgentState | None = None
    served: str = ""

    def conditions(self, online_from: datetime) -> list[ColumnElement[bool]]:
        """Return the conditions of the rows that it chooses; agents seen since `online_from` are online."""
        named = [_is_named(self.text)] if self.text else []
        return [*named, _is(self.state, self.served, online_from)] if self.state else named


EVERY_AGENT = AgentFilter()


def _is_named(text: str) -> ColumnElement[bool]:
    if "\0" in text:  # in no name, and refused by PostgreSQL
        return false()
    return func.lower(agents.c.name).contains(text.lower(), autoescape=True)


def _is(state: AgentState, served: str, online_from: datetime) -> ColumnElement[bool]:
    if state is AgentState.SILENT:
        return agents.c.last_seen_at < online_from
    online = agents.c.last_seen_at >= online_from
    if state is AgentState.FAILING:
        return and_(online, agents.c.status == _ERROR)
    works = and_(online, or_(agents.c.status.is_(None), agents.c.status != _ERROR))
    if state is AgentState.CURRENT:
        return and_(works, agents.c.commit == served)
    return and_(works, or_(agents.c.commit.is_(None), agents.c.commit != served))
