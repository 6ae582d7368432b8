"""Text from content as it is shown on a terminal."""


def escape_unprintable(line: str) -> str:
    """Escape control characters and other unprintable ones, so that a line cannot control the terminal."""
    if line.isprintable():
        return line
    return "".join(sign if sign.isprintable() else sign.encode("unicode_escape").decode() for sign in line)
