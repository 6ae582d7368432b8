"""What dulwich was writing when the disk was full: its lock files try again when they are collected, and complain."""

from traceback import walk_tb

from dulwich.file import _GitFile


def let_go(ex: OSError) -> None:
    """Close the lock files that the error came out of, so that nothing is printed beside the log later."""
    for frame, _ in walk_tb(ex.__traceback__):
        for held in frame.f_locals.values():
            if isinstance(held, _GitFile):
                held._file.raw.close()  # type: ignore[attr-defined]  # noqa: SLF001 - it has no way to give up writing
