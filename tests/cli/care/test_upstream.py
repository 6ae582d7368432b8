"""`waypost upstream`: set, shown, synced without a service, suspended and removed; secrets come from variables only."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.api.upstreams.fake_hosts import TOKEN, FakeHost, fake_host
from tests.cli.terminal import invoke, invoke_ok
from tests.gitstore.fixtures import git
from tests.gitstore.wire.client.http_host import PASSWORD, USER

pytestmark = pytest.mark.usefixtures("data")


@pytest.fixture
def upstream(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return an empty bare repository in a folder that the operator allows."""
    monkeypatch.setenv("WAYPOST_UPSTREAM_FOLDERS", str(tmp_path))
    git(tmp_path, "init", "--quiet", "--bare", "--initial-branch=release", "up.git")
    return tmp_path / "up.git"


def release_of(repository: Path) -> str:
    """Return the commit of release."""
    return git(repository, "rev-parse", "refs/heads/release")


def test_a_mirror_is_set_synced_and_shown(data: Path, upstream: Path) -> None:
    invoke_ok("upstream", "set", "sample", upstream, "--mode", "mirror")
    assert "pending" in invoke_ok("upstream", "show", "sample").out
    shown = invoke_ok("upstream", "sync", "sample", "--json").json
    tip = release_of(data / "repos/sample.git")
    assert (shown["status"], shown["tip"], shown["release"]) == ("synced", tip, tip)
    assert release_of(upstream) == tip
    assert tip in invoke_ok("upstream", "show", "sample").out
    assert invoke("doctor").code == 0, "an upstream is nothing to repair"


@pytest.mark.parametrize("url", ["/srv/elsewhere.git", "file:///srv/elsewhere.git"])
def test_a_path_outside_the_allowed_folders_is_not_set(upstream: Path, url: str) -> None:
    """An upstream that works stays as it was."""
    invoke_ok("upstream", "set", "sample", upstream, "--mode", "mirror")
    before = invoke_ok("upstream", "show", "sample", "--json").json["url"]
    refused = invoke("upstream", "set", "sample", url, "--mode", "mirror")
    assert (refused.code, refused.out, "upstream_folders" in refused.err) == (2, "", True)
    assert invoke_ok("upstream", "show", "sample", "--json").json["url"] == before


def test_what_a_sync_will_miss_is_told_when_it_is_set(upstream: Path, tmp_path: Path) -> None:
    hosts = tmp_path / "hosts"
    hosts.write_text("host.example ssh-ed25519 AAAA\n", encoding="utf-8")
    missing, ssh = upstream.with_name("later.git"), "git@host.example:acme.git"
    assert f"There is no folder {missing} on this machine now" in set_mirror(missing)
    assert "no folder" not in set_mirror(upstream)
    assert "It has no known hosts" in set_mirror(ssh)
    assert "no known hosts" not in set_mirror(ssh, "--known-hosts", hosts)


def test_options_that_are_not_named_have_their_defaults_again_and_it_says_so(upstream: Path) -> None:
    first = set_mirror(upstream, "--branch", "main", "--poll", 20)
    assert "again" not in first
    assert "again" not in set_mirror(upstream, "--branch", "main", "--poll", 20)
    said = set_mirror(upstream, "--poll", 20)
    assert "--branch was not named, so it is release again; it was main." in said
    assert "--poll" not in said
    assert invoke_ok("upstream", "show", "sample", "--json").json["branch"] == "release"


def test_a_refused_option_is_named() -> None:
    words = ("upstream", "set", "sample", "https://github.com/acme/rules.git", "--mode", "source")
    found = invoke(*words, "--publish", "pull-request")
    assert (found.code, "WAYPOST_UPSTREAM_HOST_TOKEN: error: Pull requests need a token" in found.err) == (2, True)
    found = invoke(*words, "--host-url", "ftp://x", "--host", "gitea")
    assert (found.code, "--host-url: error: " in found.err) == (2, True)


def set_mirror(url: object, *options: object) -> str:
    """Set the upstream; return the notes."""
    return invoke_ok("upstream", "set", "sample", url, "--mode", "mirror", *options).err


def test_a_folder_of_the_upstream_is_set_and_shown(data: Path, upstream: Path) -> None:
    words = ("--mode", "mirror", "--path", "web/redirects/", "--drafts", "push")
    invoke_ok("upstream", "set", "sample", upstream, *words)
    invoke_ok("upstream", "sync", "sample")
    tree = git(data / "repos/sample.git", "rev-parse", "refs/heads/release^{tree}")
    assert git(upstream, "rev-parse", "refs/heads/release:web/redirects") == tree
    shown = invoke_ok("upstream", "show", "sample")
    assert "web/redirects/" in shown.out
    assert "are pushed too" in shown.out
    assert (shown_json := invoke_ok("upstream", "show", "sample", "--json").json)["drafts"] == "push"
    assert shown_json["proposals"] == "none"
    assert invoke("doctor").code == 0, "the copy of the upstream's repository is nothing to repair"


def test_a_branch_of_the_upstream_is_shown_with_its_proposal(data: Path, upstream: Path) -> None:
    invoke_ok("upstream", "set", "sample", upstream, "--mode", "source")
    invoke_ok("upstream", "sync", "sample")
    tree = git(upstream, "rev-parse", "refs/heads/release^{tree}")
    made = git(upstream, "commit-tree", "-p", "refs/heads/release", "-m", "On the side", tree)
    git(upstream, "update-ref", "refs/heads/side", made)
    git(upstream, "update-ref", "refs/pull/5/head", made)
    found = invoke_ok("upstream", "sync", "sample").out
    assert f"side (pull request 5) {made[:12]} proposal/" in found
    (proposal,) = invoke_ok("proposal", "list", "sample", "--json").json
    assert proposal["upstream"] == {"branch": "side", "pullRequest": 5, "commit": made}
    assert "follows side (pull request 5)" in invoke_ok("proposal", "show", "sample", proposal["id"]).out
    assert git(data / "repos/sample.git", "rev-parse", "refs/heads/upstream/branch/side") == made


def test_a_fault_is_shown_with_the_exit_code_of_problems(upstream: Path) -> None:
    invoke_ok("upstream", "set", "sample", upstream, "--mode", "source")
    invoke_ok("upstream", "sync", "sample")
    upstream.rename(upstream.with_suffix(".away"))
    found = invoke("upstream", "sync", "sample")
    assert (found.code, "upstream_unavailable: " in found.out) == (1, True)
    assert re.search(r"^tried     \S+Z, reached \S+Z$", found.out, re.MULTILINE)
    assert invoke("upstream", "show", "sample").code == 1


def test_the_commits_and_rules_of_one_side_are_counted(upstream: Path) -> None:
    invoke_ok("upstream", "set", "sample", upstream, "--mode", "source")
    invoke_ok("upstream", "sync", "sample")
    before = release_of(upstream)
    invoke_ok("import", "sample", "shop", "-", "--publish", stdin=b"type\tsource\ttarget\tstatus\nBASIC\t/a\t/b\t301\n")
    git(upstream, "update-ref", "refs/heads/release", before)
    found = invoke("upstream", "sync", "sample").out
    assert "differs   1 commit ahead, 0 commits behind" in found
    assert "  shop: 1 redirect added" in invoke("upstream", "show", "sample").out


def test_a_typing_error_in_the_branch_is_refused_unless_it_is_to_be_created(upstream: Path) -> None:
    invoke_ok("upstream", "set", "sample", upstream, "--mode", "source")
    invoke_ok("upstream", "sync", "sample")
    invoke_ok("upstream", "set", "sample", upstream, "--mode", "source", "--branch", "relaese")
    found = invoke("upstream", "sync", "sample")
    assert found.code == 1
    assert "upstream_missing: The upstream of sample has no branch relaese" in found.out
    assert "It has the branches: release" in found.out
    assert "\nupstream  no such branch or folder\n" in found.out
    assert "differs" not in found.out
    shown = invoke_ok(
        "upstream", "set", "sample", upstream, "--mode", "source", "--branch", "new", "--create", "--json"
    )
    assert shown.json["create"]
    invoke_ok("upstream", "sync", "sample")
    assert git(upstream, "for-each-ref", "--format=%(refname)").split() == ["refs/heads/new", "refs/heads/release"]


def test_a_suspended_upstream_is_not_synced_and_a_removed_one_is_none(upstream: Path) -> None:
    invoke_ok("upstream", "set", "sample", upstream, "--mode", "mirror")
    invoke_ok("upstream", "suspend", "sample")
    assert "resume" in invoke("upstream", "sync", "sample").err
    assert git(upstream, "for-each-ref") == ""
    invoke_ok("upstream", "resume", "sample")
    invoke_ok("upstream", "sync", "sample")
    assert invoke("upstream", "remove", "sample").code == 2, "it asks first"
    invoke_ok("upstream", "remove", "sample", "--yes")
    assert "has no upstream" in invoke("upstream", "show", "sample").err


def test_secrets_come_from_variables_and_are_never_printed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WAYPOST_UPSTREAM_PASSWORD", "hidden-password")
    monkeypatch.setenv("WAYPOST_UPSTREAM_HOOK_SECRET", "hidden-secret-of-hook")
    found = invoke_ok("upstream", "set", "sample", "https://host.example/a.git", "--mode", "source", "--json")
    assert (found.json["hasPassword"], found.json["hasHookSecret"]) == (True, True)
    monkeypatch.delenv("WAYPOST_UPSTREAM_PASSWORD")
    again = invoke_ok("upstream", "set", "sample", "https://host.example/a.git", "--mode", "source", "--json")
    other = invoke_ok("upstream", "set", "sample", "https://other.example/a.git", "--mode", "source", "--json")
    assert (again.json["hasPassword"], other.json["hasPassword"]) == (True, False)
    assert "hidden" not in "".join(each.out + each.err for each in (found, again, other))


@pytest.mark.parametrize("url", ["https://user:secret@host.example/a", "ext::sh", "a/b"])
def test_a_url_that_cannot_be_an_upstream_is_refused(url: str) -> None:
    found = invoke("upstream", "set", "sample", "--mode", "source", "--", url)
    assert found.code in {1, 2}
    assert "The URL" in found.err
    assert "secret" not in found.err


@pytest.fixture
def host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeHost]:
    """Run a Gitea that answers as documented, and follow its repository with pull requests."""
    monkeypatch.setenv("WAYPOST_UPSTREAM_NETWORKS", "127.0.0.0/8")
    monkeypatch.setenv("WAYPOST_UPSTREAM_PASSWORD", PASSWORD)
    monkeypatch.setenv("WAYPOST_UPSTREAM_HOST_TOKEN", TOKEN)
    with fake_host("gitea", tmp_path / "host") as found:
        words = ("--mode", "source", "--username", USER, "--host", "gitea", "--publish", "pull-request")
        invoke_ok("upstream", "set", "sample", found.url, *words)
        invoke_ok("upstream", "sync", "sample")
        yield found


def test_publish_says_where_its_pull_request_is(host: FakeHost) -> None:
    before = host.tip()
    shown = invoke_ok("upstream", "show", "sample")
    assert "host      gitea, a publish is a pull-request" in shown.out
    table = "type\tsource\ttarget\tstatus\nBASIC\t{}\t/new\t301\n"
    invoke_ok("import", "sample", "shop", "-", stdin=table.format("/by-pull").encode())
    found = invoke_ok("publish", "sample", "shop", "-m", "Add one")
    assert found.out.strip() == f"{host.http.url}/acme/redirects/pull/1"
    assert "waypost/shop/main" in found.err
    again = invoke_ok("publish", "sample", "shop", "--json")
    assert again.json["pullRequest"]["number"] == 1
    imported = invoke_ok("import", "sample", "shop", "-", "--publish", stdin=table.format("/other").encode())
    assert f"merge its pull request: {host.http.url}/acme/redirects/pull/1" in imported.err
    assert host.tip() == before
    assert TOKEN not in "".join(each.out + each.err for each in (shown, found, again))
