"""The service skeleton on the real server, with fakes for identity and content: `python -m tests.api.skeleton`."""

import os
import time
from functools import partial

from api.app.app import Application, create_app
from api.readiness import Fault, ReadyCheck, Status
from api.server import server
from api.settings import Settings
from tests.api.fakes import PROBES, FakeFastPath, LifecycleRecorder, dependencies


def make(settings: Settings) -> Application:
    """Return the application of one worker; the files `away` and `slow` in the data directory delay or stop its start."""
    if (settings.data / "away").exists():
        raise OSError("the disk is away")
    if (settings.data / "slow").exists():
        (settings.data / f"starting.{os.getpid()}").touch()
        time.sleep(60)
    broken = settings.data / "broken"
    gone = Fault(Status.UNAVAILABLE, "data_gone", "The data is gone.", "Restore it.")
    check = ReadyCheck("content", lambda: [gone] if broken.exists() else [])
    diary = LifecycleRecorder(settings.data)
    app = create_app(dependencies(settings, ready_checks=(check,), background_services=(diary,)), PROBES)
    app.fast_path = FakeFastPath()  # type: ignore[assignment]  # a fake
    return app


if __name__ == "__main__":
    found = Settings.read({}, os.environ)
    server.HEARTBEAT_SECONDS = int(os.environ.get("SKELETON_HEARTBEAT", server.HEARTBEAT_SECONDS))
    server.serve(found, partial(make, found))
