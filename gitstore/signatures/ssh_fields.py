"""The fields of SSH's binary formats: strings and 32-bit numbers (https://www.rfc-editor.org/rfc/rfc4251#section-5)."""

import struct

_LENGTH = struct.Struct(">I")


class MalformedFields(ValueError):
    """Bytes that are not the fields that were asked for."""


class FieldReader:
    """A reader of fields, from the first byte on. Its methods raise MalformedFields where the bytes end too early."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def take(self, count: int) -> bytes:
        """Return the next bytes."""
        end = self._at + count
        if end > len(self._data):
            raise MalformedFields("the data ends too early")
        found, self._at = self._data[self._at : end], end
        return found

    def number(self) -> int:
        """Return the next 32-bit number."""
        return int(_LENGTH.unpack(self.take(_LENGTH.size))[0])

    def string(self) -> bytes:
        """Return the next string."""
        return self.take(self.number())

    def text(self) -> str:
        """Return the next string as ASCII."""
        try:
            return self.string().decode("ascii")
        except UnicodeDecodeError as ex:
            raise MalformedFields("a name is not ASCII") from ex

    def require_end(self) -> None:
        """Raise MalformedFields where bytes are left."""
        if self._at != len(self._data):
            raise MalformedFields("the data has bytes after its end")


def dump_number(number: int) -> bytes:
    """Return a 32-bit number."""
    return _LENGTH.pack(number)


def dump_string(data: bytes) -> bytes:
    """Return a string with its length."""
    return _LENGTH.pack(len(data)) + data
