"""The refusal of a caller who lacks a grant: it names what would do, and nothing that only somebody with it may know."""

from collections.abc import Sequence

from api.errors import Forbidden

EVERYWHERE = "*"


def lacking(accepted: Sequence[tuple[str, str]], namespace: str, project: str) -> Forbidden:
    """403 that names the (resource, action) grants of which one would do, such as project:publish in this project.

    It follows from the call alone: the same whatever the place is called, and whether or not it exists.
    """
    *others, last = (":".join(each) for each in accepted)
    wanted = f"{', '.join(others)} or {last}" if others else last
    return Forbidden(f"This needs {wanted}{_where(namespace, project)}.")


def _where(namespace: str, project: str) -> str:
    if project != EVERYWHERE:
        return " in this project"
    return " in this namespace" if namespace != EVERYWHERE else ""
