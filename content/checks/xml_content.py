"""Well-formed XML in the content of pages."""

from typing import NoReturn
from xml.parsers import expat

from content.records.problem import Problem
from content.records.problem_codes import problem


class _Unchecked(Exception):
    """The text declares entities of its own, which are not expanded here."""


def xml_problems(content: str, file: str = "") -> list[Problem]:
    """Return a warning if the content, of a file where one is named, is not well-formed; at its field.

    No entity is expanded or fetched: a content that declares one is not checked from there on.
    """
    parser = expat.ParserCreate()
    parser.EntityDeclHandler = _stop
    try:
        parser.Parse(content, True)  # noqa: FBT003 - the call of expat
    except expat.ExpatError as ex:
        place = f"line {ex.lineno} of {file}" if file else f"line {ex.lineno} of the content"
        message = f"not well-formed XML: {expat.ErrorString(ex.code)} ({place})"
        return [problem("xml_malformed", message, "/file" if file else "/content")]
    except (_Unchecked, UnicodeEncodeError):  # a lone surrogate is an error of its own
        return []
    return []


def _stop(*_declaration: object) -> NoReturn:
    raise _Unchecked
