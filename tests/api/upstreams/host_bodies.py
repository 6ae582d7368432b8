"""Webhooks as each host sends them, signed with a secret.

Those of Gitea in `recorded/` are what a real Gitea sent, byte by byte. The others are made here, in the form that the public
documentation of each host shows: https://docs.github.com/en/webhooks/webhook-events-and-payloads#push,
https://docs.gitlab.com/user/project/integrations/webhook_events/#push-events,
https://docs.gitlab.com/user/project/integrations/webhook_events/#merge-request-events and
https://forgejo.org/docs/latest/user/webhooks/
"""

import base64
import hashlib
import hmac
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

import orjson

SECRET = "the-secret-of-the-webhook"
RECORDED = Path(__file__).parent / "recorded"
OLD, NEW = "1" * 40, "2" * 40


class Sent(NamedTuple):
    """A webhook: its headers, and its body byte by byte."""

    headers: Mapping[str, str]
    body: bytes


def recorded(name: str) -> Sent:
    """Return a webhook that a real host sent; its signature is of `SECRET`."""
    found = orjson.loads((RECORDED / f"{name}.json").read_bytes())
    return Sent(found["headers"], found["body"].encode())


def hex_digest(body: bytes, secret: str = SECRET) -> str:
    """Return the signature of GitHub, Gitea and Forgejo."""
    return hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()


def github(ref: str, secret: str = SECRET, nonce: str = "") -> Sent:
    """Return a push of GitHub; its JSON is compact."""
    body = orjson.dumps(
        {
            "ref": ref,
            "before": OLD,
            "after": NEW,
            "repository": {"id": 186853002, "full_name": "acme/redirects", "private": True, "default_branch": "main"},
            "pusher": {"name": "ada", "email": "ada@example.com"},
            "sender": {"login": "ada", "id": 21031067, "type": "User"},
            "created": False,
            "deleted": False,
            "forced": False,
            "compare": f"https://github.com/acme/redirects/compare/{nonce}",
            "commits": [
                {"id": NEW, "message": "Añadir ✓", "added": [], "removed": [], "modified": ["shop/redirects.yaml"]}
            ],
            "head_commit": {"id": NEW},
        }
    )
    headers = {
        "User-Agent": "GitHub-Hookshot/044aadd",
        "X-GitHub-Event": "push",
        "X-GitHub-Delivery": "72d3162e-cc78-11e3-81ab-4c9367dc0958",
        "X-Hub-Signature": "sha1=7d38cdd689735b008b3c702edd92eea23791c5f6",
        "X-Hub-Signature-256": f"sha256={hex_digest(body, secret)}",
    }
    return Sent(headers, body)


def gitlab(ref: str, secret: str = SECRET, nonce: str = "") -> Sent:
    """Return a push of GitLab with a secret token."""
    body = orjson.dumps(
        {
            "object_kind": "push",
            "event_name": "push",
            "before": OLD,
            "after": NEW,
            "ref": ref,
            "ref_protected": True,
            "checkout_sha": NEW,
            "user_id": 4,
            "project_id": 15,
            "project": {"id": 15, "path_with_namespace": "acme/redirects", "default_branch": "main"},
            "commits": [{"id": NEW, "title": nonce}],
            "total_commits_count": 1,
        }
    )
    headers = {
        "User-Agent": "GitLab/18.5.0",
        "X-Gitlab-Event": "Push Hook",
        "X-Gitlab-Webhook-UUID": "6657c6bd-5b3b-4b1b-8f7e-1f0a1c6a3b7e",
        "X-Gitlab-Event-UUID": "13792a34-cac6-4fda-95a8-c58e00a3954e",
        "Idempotency-Key": "f5e57a2c-0c0d-4a3a-9f66-8a3a3f1f4b1e",
        "X-Gitlab-Token": secret,
    }
    return Sent(headers, body)


def gitlab_signed(ref: str, secret: str = SECRET, nonce: str = "", at: int = 0) -> Sent:
    """Return a push of GitLab with a signing token, sent at a time."""
    plain = gitlab(ref, secret, nonce)
    number = plain.headers["Idempotency-Key"]
    digest = hmac.new(secret.encode(), f"{number}.{at}.".encode() + plain.body, hashlib.sha256).digest()
    signature = f"v1,{base64.b64encode(digest).decode()}"
    headers = {name: value for name, value in plain.headers.items() if name != "X-Gitlab-Token"}
    signed = {"webhook-id": number, "webhook-timestamp": str(at), "webhook-signature": f"v1,AAAA {signature}"}
    return Sent({**headers, **signed}, plain.body)


def gitea(ref: str, secret: str = SECRET, nonce: str = "") -> Sent:
    """Return a push of Gitea, whose JSON is indented, with the headers of GitHub beside its own."""
    data = {"ref": ref, "before": OLD, "after": NEW, "compare_url": nonce, "commits": [{"id": NEW}], "total_commits": 1}
    body = orjson.dumps({**data, "repository": {"full_name": "acme/redirects"}}, option=orjson.OPT_INDENT_2)
    digest = hex_digest(body, secret)
    headers = {
        "X-Gitea-Delivery": "1a2b3c",
        "X-Gitea-Event": "push",
        "X-Gitea-Event-Type": "push",
        "X-Gitea-Signature": digest,
        "X-Gogs-Event": "push",
        "X-Gogs-Signature": digest,
        "X-GitHub-Event": "push",
        "X-Hub-Signature-256": f"sha256={digest}",
    }
    return Sent(headers, body)


def forgejo(ref: str, secret: str = SECRET, nonce: str = "") -> Sent:
    """Return a push of Forgejo, with the headers of Gitea and GitHub beside its own."""
    sent = gitea(ref, secret, nonce)
    own = {"X-Forgejo-Event": "push", "X-Forgejo-Signature": sent.headers["X-Gitea-Signature"]}
    return Sent({**own, **sent.headers}, sent.body)


HOSTS: Mapping[str, Callable[..., Sent]] = {
    "github": github,
    "gitlab": gitlab,
    "gitea": gitea,
    "forgejo": forgejo,
}


def github_pull(action: str) -> Sent:
    """Return a pull request of GitHub."""
    pull = {"number": 2, "state": "closed", "merged": action == "closed", "head": {"ref": "waypost/shop/main"}}
    body = orjson.dumps(
        {"action": action, "number": 2, "pull_request": pull, "repository": {"full_name": "acme/redirects"}}
    )
    headers = {"X-GitHub-Event": "pull_request", "X-Hub-Signature-256": f"sha256={hex_digest(body)}"}
    return Sent(headers, body)


def gitlab_merge_request(action: str) -> Sent:
    """Return a merge request of GitLab with a secret token."""
    attributes = {"id": 99, "iid": 1, "action": action, "state": "merged", "source_branch": "waypost/shop/main"}
    body = orjson.dumps(
        {"object_kind": "merge_request", "event_type": "merge_request", "object_attributes": attributes}
    )
    return Sent({"X-Gitlab-Event": "Merge Request Hook", "X-Gitlab-Token": SECRET}, body)
