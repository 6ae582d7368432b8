"""Colors of the output: on a terminal, unless NO_COLOR is set, or everywhere with FORCE_COLOR."""

import os
from dataclasses import dataclass
from typing import TextIO

import click


@dataclass(frozen=True, slots=True)
class Palette:
    """A painter of text; without colors, text stays as it is."""

    has_colors: bool

    def paint(self, text: str, color: str | None = None, *, bold: bool = False) -> str:
        """Return the text in a color."""
        return click.style(text, fg=color, bold=bold or None) if self.has_colors and text else text


def palette_of(stream: TextIO) -> Palette:
    """Return the palette of a stream, as https://no-color.org and https://force-color.org describe it."""
    if os.environ.get("NO_COLOR"):
        return Palette(has_colors=False)
    return Palette(has_colors=bool(os.environ.get("FORCE_COLOR")) or (is_terminal(stream) and _can_color()))


def is_terminal(stream: TextIO | None) -> bool:
    """Tell whether a stream is a terminal; a stream that was closed before the start is none."""
    return stream is not None and stream.isatty()


def _can_color() -> bool:
    return os.environ.get("TERM") != "dumb"
