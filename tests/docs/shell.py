"""The examples of a document, typed one after another into one shell by a reader."""

import os
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from tests.docs.blocks import Example
from tests.service import ROOT, Service

_SECONDS = 180
_END = "---- end of example {} ----"
_PRINTED_URL = "http://127.0.0.1:8080"
_COMMAND = """\
#!/bin/sh
exec "{python}" -m cli.main "$@"
"""


class Reader:
    """A reader in a folder that looks like a checkout after `make run`: `.venv/bin/waypost`, `data`, `sample-repo`."""

    def __init__(self, folder: Path, service: Service, password: str, token: str) -> None:
        self._service = service
        self._printed = {"URL": service.url, "PASSWORD": password, "AGENT": token}
        self.checkout = folder / "a-checkout"
        self._command = self.checkout / ".venv" / "bin" / "waypost"
        self._command.parent.mkdir(parents=True)
        self._command.write_text(_COMMAND.format(python=sys.executable), "utf-8")
        self._command.chmod(0o755)
        (self.checkout / "data").symlink_to(service.data)
        (self.checkout / "sample-repo").symlink_to(ROOT / "sample-repo")

    def type(self, examples: Sequence[Example]) -> list[str]:
        """Run the examples and return the output of each on both streams; fail with it if a command fails."""
        script = "set -eu\n" + "".join(
            f"{example.commands}\necho; echo '{_END.format(number)}'\n" for number, example in enumerate(examples)
        )
        found = subprocess.run(
            ["bash", "-c", script],
            cwd=self.checkout,
            env=self._environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=_SECONDS,
            check=False,
        )
        assert found.returncode == 0, f"an example failed with {found.returncode}:\n{found.stdout[-3000:]}"
        return self._parts(found.stdout, len(examples))

    def _parts(self, printed: str, count: int) -> list[str]:
        parts = []
        for number in range(count):
            part, _, printed = printed.partition("\n" + _END.format(number) + "\n")
            parts.append(part.replace(self._service.url, _PRINTED_URL))
        return parts

    def _environment(self) -> dict[str, str]:
        own = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
        path = f"{ROOT}{os.pathsep}{os.environ.get('PYTHONPATH', '')}".rstrip(os.pathsep)
        return {**own, **_UNKNOWN, **self._printed, "HOME": str(self.checkout.parent), "PYTHONPATH": path}


# A git without an identity, and without guessing one: an example that commits has to set it.
_UNKNOWN = {
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_COUNT": "1",
    "GIT_CONFIG_KEY_0": "user.useConfigOnly",
    "GIT_CONFIG_VALUE_0": "true",
}


def shows(output: str, printed: str) -> bool:
    """Return whether a block of output matches the printed text; `…` matches any text, also an empty one."""
    pattern = ".*".join(re.escape(piece) for piece in output.strip().split("…"))
    return re.fullmatch(pattern, printed.strip(), re.DOTALL) is not None
