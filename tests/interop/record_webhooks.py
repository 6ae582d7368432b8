"""Record the webhooks that a real Gitea sends, byte by byte: `python -m tests.interop.record_webhooks`.

The secret is that of the tests, so that the signatures stay valid; nothing else in them is secret.
"""

import json
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.api.upstreams.host_bodies import RECORDED, SECRET
from tests.e2e.receiver import Message, Receiver, receiving
from tests.interop.gitea import VERSION, Gitea, GiteaRepository, running_gitea
from tests.service import wait_until

_KEPT = ("content-type", "user-agent", "x-gitea-", "x-github-", "x-gogs-", "x-hub-")


def record(gitea: Gitea, receiver: Receiver) -> None:
    """Make a push to release, one to another branch, and a pull request that is opened and merged; write each webhook."""
    repository = gitea.create_repository()
    repository.commit_first("shop/redirects.yaml", "redirects: []\n")
    repository.add_webhook(receiver.url, SECRET)
    commit = repository.commit("shop/redirects.yaml", "redirects: []\n# Añadido ✓\n")
    _write("gitea-push", _wait(receiver, ref="refs/heads/release", after=commit))
    repository.commit("shop/redirects.yaml", "redirects: []\n# Feature\n", new_branch="feature")
    _write("gitea-push-other", _wait(receiver, ref="refs/heads/feature"))
    number = _open(repository)
    _write("gitea-pull-request-opened", _wait(receiver, action="opened"))
    repository.merge(number)
    _write("gitea-pull-request-closed", _wait(receiver, action="closed"))


def _open(repository: GiteaRepository) -> int:
    body = {"title": "A feature", "body": "", "head": "feature", "base": "release"}
    return int(repository.ask("POST", "/pulls", 201, body)["number"])


def _wait(receiver: Receiver, **fields: str) -> Message:
    """Wait for the webhook whose body has these fields."""

    def find() -> Message | None:
        return next((each for each in list(receiver.messages) if fields.items() <= each.body.items()), None)

    return wait_until(find, 60, f"a webhook with {fields}")


def _write(name: str, message: Message) -> None:
    headers = {key: value for key, value in sorted(message.headers.items()) if key.startswith(_KEPT)}
    RECORDED.mkdir(exist_ok=True)
    recorded = {"host": f"Gitea {VERSION[1:]}", "headers": headers, "body": message.raw.decode()}
    (RECORDED / f"{name}.json").write_text(json.dumps(recorded, indent=2) + "\n", "utf-8")


def main() -> None:
    """Run Gitea, and record."""
    with TemporaryDirectory() as folder, running_gitea(Path(folder)) as gitea, receiving() as receiver:
        record(gitea, receiver)


if __name__ == "__main__":
    main()
