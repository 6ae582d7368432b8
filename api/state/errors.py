"""Why the state store stops; each is a kind of a store error, so that one table maps both to HTTP."""

from gitstore.errors import Broken, Busy, OutOfSpace


class StateBusy(Busy):
    """The database is locked, or all its connections are taken, for longer than a request should wait."""

    code = "state_busy"


class StateBroken(Broken):
    """The database cannot be reached or read, or its tables are not those that this program knows."""

    code = "state_broken"


class StateFull(OutOfSpace):
    """The disk is full; the transaction was undone."""

    code = "out_of_space"
