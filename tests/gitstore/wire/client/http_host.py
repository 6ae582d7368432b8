"""A Git host on loopback: C git's `http-backend` behind nginx, and a server that answers with given bytes."""

import os
import shutil
import signal
import socket as sockets
import subprocess
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from socket import socket
from typing import NamedTuple

from tests.ports import free_port
from tests.service import wait_until

USER, PASSWORD = "robot", "s3cret-of-the-upstream"
NGINX, WRAPPER = "nginx", "fcgiwrap"
RETRY_SECONDS = 120
_PATIENCE = 30.0
_CONFIG = """\
{user}
worker_processes 1;
daemon off;
pid {folder}/pid;
error_log {folder}/errors;
events {{}}
http {{
    log_format line '$request_method $request_uri';
    access_log {folder}/requests line;
    client_max_body_size 0;
    client_body_temp_path {folder}/client;
    fastcgi_temp_path {folder}/answers;
    proxy_temp_path {folder}/proxy;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    server {{
        listen 127.0.0.1:{port};
        location ~ ^/answers/(429|503)/ {{
            add_header Retry-After {retry} always;
            if ($uri ~ ^/answers/429/) {{ return 429; }}
            return 503;
        }}
        location /answers/403/ {{ return 403; }}
        location /api/ {{ proxy_pass http://127.0.0.1:{api_port}; proxy_set_header Host $http_host; }}
        location / {{
            auth_basic host;
            auth_basic_user_file {folder}/passwords;
            fastcgi_pass unix:{folder}/wrapper;
            fastcgi_param SCRIPT_FILENAME {backend};
            fastcgi_param GIT_PROJECT_ROOT {root};
            fastcgi_param GIT_HTTP_EXPORT_ALL 1;
            fastcgi_param GIT_CONFIG_GLOBAL /dev/null;
            fastcgi_param GIT_CONFIG_SYSTEM /dev/null;
            fastcgi_param PATH_INFO $uri;
            fastcgi_param QUERY_STRING $query_string;
            fastcgi_param REQUEST_METHOD $request_method;
            fastcgi_param CONTENT_TYPE $content_type;
            fastcgi_param CONTENT_LENGTH $content_length;
            fastcgi_param REMOTE_USER $remote_user;
            fastcgi_param REMOTE_ADDR $remote_addr;
        }}
    }}
}}
"""


def has_web_server() -> bool:
    """Tell whether the programs of the host are installed."""
    return all(map(find_program, (NGINX, WRAPPER)))


def find_program(name: str) -> str:
    """Return the path of a program, also of a server that is outside the PATH of ordinary users; empty if it is missing."""
    return shutil.which(name, path=f"{os.environ['PATH']}:/usr/sbin") or ""


@dataclass
class HttpHost:
    """The repositories below a folder, by HTTP with a password."""

    folder: Path
    url: str
    log: Path = Path()

    @property
    def requests(self) -> list[str]:
        """The method and path of each request that has ended."""
        return self.log.read_text("utf-8").splitlines()

    def answer(self, status: int) -> str:
        """Return the URL of a repository that is answered with a status; 429 and 503 tell when to come again."""
        return f"{self.url}/answers/{status}/up.git"


class Asked(NamedTuple):
    """A request to a host's API."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes


AnswerApi = Callable[[Asked], tuple[int, dict[str, str], bytes]]
"""Answers a request to the API of a host: its status, headers and body."""


@contextmanager
def _serving_api(answer_api: AnswerApi) -> Iterator[int]:
    """Answer the requests to the API of a host; yield the port."""

    class Handler(BaseHTTPRequestHandler):
        def __getattr__(self, name: str) -> Callable[[], None]:
            if name.startswith("do_"):
                return self.answer
            raise AttributeError(name)

        def answer(self) -> None:
            """Answer a request of any method."""
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            status, headers, content = answer_api(Asked(self.command, self.path, dict(self.headers), body))
            self.send_response(status)
            for name, value in {**headers, "Content-Length": str(len(content))}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: object) -> None:
            """Print nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    try:
        yield server.server_port
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@contextmanager
def hosting(root: Path, answer_api: AnswerApi | None = None) -> Iterator[HttpHost]:
    """Serve the repositories below a folder with `git http-backend`, behind nginx, and below `/api/` what is given."""
    with _serving_api(answer_api) if answer_api else nullcontext(1) as api_port, _serving_git(root, api_port) as host:
        yield host


@contextmanager
def _serving_git(root: Path, api_port: int) -> Iterator[HttpHost]:
    folder = Path(tempfile.mkdtemp(prefix="waypost-web-"))  # short: the name of a socket has 108 bytes at most
    try:
        (folder / "passwords").write_text(f"{USER}:{{PLAIN}}{PASSWORD}\n", "utf-8")
        port = free_port()
        exec_path = subprocess.run(["git", "--exec-path"], capture_output=True, text=True, check=True).stdout.strip()
        text = _CONFIG.format(
            user="user root;" if os.geteuid() == 0 else "",
            folder=folder,
            port=port,
            retry=RETRY_SECONDS,
            backend=f"{exec_path}/git-http-backend",
            root=root,
            api_port=api_port,
        )
        (folder / "config").write_text(text, "utf-8")
        wrapper = [find_program(WRAPPER), "-c", "4", "-s", f"unix:{folder}/wrapper"]
        server = [find_program(NGINX), "-p", str(folder), "-c", str(folder / "config"), "-e", str(folder / "errors")]
        with _running(wrapper, folder), _running(server, folder):
            wait_until(lambda: (folder / "wrapper").exists() and listens(port), _PATIENCE, "nginx to listen")
            yield HttpHost(root, f"http://127.0.0.1:{port}", folder / "requests")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _running(command: list[str], folder: Path) -> Iterator[None]:
    with (folder / "log").open("ab") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log, process_group=0)
    try:
        yield
    finally:
        os.killpg(process.pid, signal.SIGTERM)  # the children of fcgiwrap do not end with it
        process.wait(_PATIENCE)


def listens(port: int) -> bool:
    """Tell whether something accepts connections on a port of the loopback address."""
    with suppress(OSError), sockets.create_connection(("127.0.0.1", port), 1):
        return True
    return False


@contextmanager
def answering(answer: Callable[[socket], None]) -> Iterator[str]:
    """Run a server that reads the head of each request, then has `answer` write; yield its URL."""
    listener = socket()
    listener.bind(("127.0.0.1", 0))
    listener.listen()
    threads = list[threading.Thread]()

    def serve(connection: socket) -> None:
        with connection:
            try:
                data = b""
                while b"\r\n\r\n" not in data and (piece := connection.recv(65_536)):
                    data += piece
                answer(connection)
            except OSError:  # the client has closed it
                return

    def accept() -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            thread = threading.Thread(target=serve, args=(connection,), daemon=True)
            thread.start()
            threads.append(thread)

    acceptor = threading.Thread(target=accept, daemon=True)
    acceptor.start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/repo.git"
    finally:
        listener.shutdown(2)
        listener.close()
        acceptor.join()
