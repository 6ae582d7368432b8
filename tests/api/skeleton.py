"""The service skeleton on the real server, with fakes for identity and content: `python -m tests.api.skeleton`."""

import os
import time
from functools import partial

from api.app import Service, create_app
from api.collaborators import ReadyCheck
from api.server import serve
from api.settings import Settings
from tests.api.fakes import PROBES, Diary, collaborators


def make(settings: Settings) -> Service:
    """The application of one worker; the file `slow` in the data directory holds up its start."""
    if (settings.data / "slow").exists():
        (settings.data / f"starting.{os.getpid()}").touch()
        time.sleep(60)
    broken = settings.data / "broken"
    check = ReadyCheck("content", lambda: broken.read_text(encoding="utf-8") if broken.exists() else None)
    diary = Diary(settings.data)
    return create_app(collaborators(settings, ready_checks=(check,), companions=(diary,)), PROBES)


if __name__ == "__main__":
    found = Settings.read({}, os.environ)
    serve(found, partial(make, found))
