"""The errors of the database; each is a store error, so that one table maps both to HTTP."""

from gitstore.errors import Broken, Busy, OutOfSpace, StoreError


class StateBusy(Busy):
    """The database is locked, or all its connections are in use, for longer than a request should wait."""

    code = "state_busy"


class StateBroken(Broken):
    """The database cannot be reached or read, or its tables are unknown to this program."""

    code = "state_broken"


class StateFull(OutOfSpace):
    """The disk is full; the transaction was rolled back."""

    code = "out_of_space"


class TrailBroken(Exception):
    """Rows of the audit trail do not fit their chain; they stay as they are. The log has it; no request raises it."""


class TooManyAgents(StoreError):
    """The project has as many agents as the settings allow; the known ones go on."""

    code = "too_many_agents"
