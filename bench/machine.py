"""The machine of the figures."""

import os
import platform
import subprocess
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

from bench.yardsticks import nginx_program

_PACKAGES = ("falcon", "gunicorn", "uvloop", "orjson", "google-re2", "PyYAML", "jsonschema")
_GIB = 2**20  # KiB in a GiB


def describe() -> str:
    """Describe processor, memory, versions and the load average."""
    packages = ", ".join(f"{name} {version(name)}" for name in _PACKAGES)
    return "\n".join(
        (
            f"- {datetime.now(UTC):%Y-%m-%d %H:%M} UTC; load average before the start {' '.join(f'{load:.1f}' for load in os.getloadavg())}",
            f"- {_processor()}, {os.cpu_count()} cores, {_memory()} GiB, {platform.system()} {platform.release()}",
            f"- Python {platform.python_version()}, {packages}, nginx {_nginx()}, wrk with 4 connections",
        )
    )


def _processor() -> str:
    return _field(Path("/proc/cpuinfo"), "model name") or platform.machine()


def _memory() -> str:
    return f"{int(_field(Path('/proc/meminfo'), 'MemTotal').split()[0]) / _GIB:.0f}"


def _field(path: Path, name: str) -> str:
    lines = (line.partition(":") for line in path.read_text(encoding="utf-8").splitlines())
    return next((value.strip() for key, _, value in lines if key.strip() == name), "")


def _nginx() -> str:
    return (
        subprocess.run([nginx_program(), "-v"], capture_output=True, text=True, check=True)
        .stderr.strip()
        .split("/", 1)[-1]
    )
