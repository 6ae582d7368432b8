"""The two layouts of written rules: a block, as people write it, and one rule per line in JSON flow.

All output reads back as the same record through `gitstore.yamlfiles.rule_file`.
"""

import re
from collections.abc import Mapping, Sequence
from json.encoder import encode_basestring
from typing import Literal

from content.records.record import Record, Redirect
from content.records.vocabulary import Kind

Layout = Literal["block", "flow"]
LAYOUTS: tuple[Layout, ...] = ("block", "flow")
INDENT = "  "

# A plain scalar must be the same text for every YAML reader, also for one with numbers, dates and booleans: words of
# letters, or a text with a slash and no blank.
_WORD = re.compile(r"[A-Za-z][A-Za-z0-9_.-]*")
_SENTENCE = re.compile(r"[A-Za-z][A-Za-z0-9_.,()'/-]*(?: [A-Za-z0-9_.,()'/-]+)+")
_PATH = re.compile(r"(?=[!-~]*/)[/^A-Za-z0-9(\\][!-~]*(?<!:)")
# Booleans, null and floats of YAML 1.1: https://yaml.org/type/
_RESERVED = frozenset({"y", "n", "yes", "no", "on", "off", "true", "false", "null", "nan", "inf"})

# JSON allows these unescaped in a string; YAML would fold, drop or refuse them:
# https://yaml.org/spec/1.2.2/#51-character-set
_ESCAPED = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")
_NOT_LITERAL = re.compile("[^\t\n -~\xa0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]")


def file_fields(record: Record) -> dict[str, object]:
    """Return a record's fields for a file, by wire name, in the order of both layouts: a page's content comes last."""
    if isinstance(record, Redirect):
        return record.fields()
    fields = {**record.fields()}
    content = fields.pop("content")
    return {**fields, "file": record.content_file} if record.content_file else {**fields, "content": content}


def quote(text: str) -> str:
    """Return the text in double quotes, equally valid in YAML and JSON."""
    quoted = encode_basestring(text)
    return quoted if quoted.isascii() and "\x7f" not in quoted else _ESCAPED.sub(_escape, quoted)


def dump_scalar(text: str) -> str:
    """Return the text on one line for a block: plain if every YAML reader reads it as this text, else in quotes."""
    is_plain = _WORD.fullmatch(text) or _SENTENCE.fullmatch(text) or _PATH.fullmatch(text)
    return text if is_plain and text.lower() not in _RESERVED else quote(text)


def fits_literal(text: str) -> bool:
    """Tell whether a literal block shows the text unchanged; several line breaks at the end would be fragile."""
    return text != "\n" and not text.endswith("\n\n") and not _NOT_LITERAL.search(text)


def dump_value(value: object, indent: str, eol: str = "\n") -> str:
    """Return a field's value in a block whose fields have this indentation, without the last line break."""
    if isinstance(value, str):
        return _literal(value, indent, eol) if "\n" in value and fits_literal(value) else dump_scalar(value)
    assert isinstance(value, list), "a field is a text or a list of texts"  # noqa: S101 - records hold nothing else
    return f"[{', '.join(dump_tag(tag) for tag in value)}]"


def dump_json(fields: Mapping[str, object]) -> str:
    """Return fields of texts and lists of texts as one line of JSON that is also YAML."""
    return "{" + ", ".join([f"{quote(name)}: {_json_value(value)}" for name, value in fields.items()]) + "}"


def dump_block(record: Record, indent: str = INDENT, dash: str = "- ", eol: str = "\n") -> str:
    """Return the record as an item of a block list, one field per line, with the last line break."""
    deeper = indent + " " * len(dash)
    lines = [f"{name}: {dump_value(value, deeper, eol)}{eol}" for name, value in file_fields(record).items()]
    return indent + dash + deeper.join(lines)


def dump_flow(record: Record, indent: str = INDENT, dash: str = "- ", eol: str = "\n") -> str:
    """Return the record as an item of a block list on one line, with the line break."""
    if isinstance(record, Redirect) and not (
        record.note or record.tags
    ):  # nearly every rule of an import: four times faster
        source, target = quote(record.source), quote(record.target)
        fields = f'"type": "{record.type}", "source": {source}, "target": {target}, "status": "{record.status}"'
        return f"{indent}{dash}{{{fields}}}{eol}"
    return f"{indent}{dash}{dump_json(file_fields(record))}{eol}"


def dump_item(record: Record, layout: Layout, indent: str = INDENT, dash: str = "- ", eol: str = "\n") -> str:
    """Return the record as an item of a block list in one of the two layouts."""
    return (dump_block if layout == "block" else dump_flow)(record, indent, dash, eol)


def new_file(kind: Kind, records: Sequence[Record], layout: Layout = "block") -> bytes:
    """Return a whole file with these records."""
    if not records:
        return f"{kind.value}: []\n".encode()
    return "".join([f"{kind.value}:\n", *(dump_item(record, layout) for record in records)]).encode()


# Files without any rule or comment left.
EMPTY_FILES = frozenset(new_file(kind, ()) for kind in Kind)


def _json_value(value: object) -> str:
    if isinstance(value, str):
        return quote(value)
    assert isinstance(value, list), "a field is a text or a list of texts"  # noqa: S101 - records hold nothing else
    return f"[{', '.join(quote(item) for item in value)}]"


def dump_tag(tag: str) -> str:
    """Return a tag as an item of a list, in brackets or not."""
    return tag if _WORD.fullmatch(tag) and tag.lower() not in _RESERVED else quote(tag)


def _literal(text: str, indent: str, eol: str) -> str:
    """Return a literal block, with an indentation indicator if the text begins with blanks."""
    deeper = indent + INDENT
    head = (
        "|"
        + (str(len(INDENT)) if text.lstrip("\n").startswith((" ", "\t")) else "")
        + ("" if text.endswith("\n") else "-")
    )
    lines = text.removesuffix("\n").split("\n")
    return eol.join([head, *(deeper + line if line else "" for line in lines)])


def _escape(found: re.Match[str]) -> str:
    return f"\\u{ord(found[0]):04x}"
