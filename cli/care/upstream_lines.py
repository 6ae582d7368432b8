"""The lines of `waypost upstream show`."""

from collections.abc import Iterator
from typing import Any

from content.changes.diff import Counts
from content.records.printable import escape_unprintable
from content.records.vocabulary import Kind
from gitstore.comparison.descriptions import count_text
from gitstore.upstream.upstream_settings import DraftsPlace


def describe_upstream(shown: dict[str, Any]) -> Iterator[str]:
    """Yield the lines of an upstream, from its JSON."""
    folder = f" {shown['path']}/" if shown["path"] else ""
    yield f"{shown['mode']} {shown['url']} {shown['branch']}{folder}"
    yield f"status    {shown['status']}"
    yield f"release   {shown['release'] or 'not synced yet'}"
    yield f"upstream  {shown['tip'] or ('no such branch or folder' if shown['reachedAt'] else 'never reached')}"
    if shown["tip"] and (shown["ahead"] or shown["behind"]):
        yield f"differs   {_count_commits(shown['ahead'])} ahead, {_count_commits(shown['behind'])} behind"
    for name in ("ahead", "behind"):
        yield from _describe_side(name, (shown["difference"] or {}).get(name))
    yield from _describe_branches(shown)
    yield from _describe_drafts(shown)
    yield f"tried     {shown['syncedAt'] or 'never'}, reached {shown['reachedAt'] or 'never'}"
    if shown["host"] != "none":
        token = "" if shown["hasHostToken"] or shown["hasPassword"] else ", no token"
        yield f"host      {shown['host']}{token}, a publish is a {shown['publish']}"
    if shown["hostFault"]:
        yield f"          the newest commit status was not sent: {shown['hostFault']}"
    if shown["fault"]:
        yield f"{shown['fault']['code']}: {shown['fault']['message']}"
        yield from (f"  {problem}" for problem in shown["fault"]["problems"])


def _describe_branches(shown: dict[str, Any]) -> Iterator[str]:
    for each in shown["branches"]:
        pull = f" (pull request {each['pullRequest']})" if each["pullRequest"] else ""
        name = escape_unprintable(each["branch"])
        yield f"branch    {name}{pull} {each['commit'][:12]} {'proposal/' + each['proposal'] if each['proposal'] else 'refused'}"
        if each["fault"]:
            yield f"  {each['fault']['message']}"
            yield from (f"    {problem}" for problem in each["fault"]["problems"])
    if shown["branchesFault"]:
        yield f"{shown['branchesFault']['code']}: {shown['branchesFault']['message']}"


def _describe_side(name: str, side: dict[str, Any] | None) -> Iterator[str]:
    """Yield the commits and rules that one side alone has."""
    for each in side["commits"] if side else ():
        yield f"{name:<9} {each['commit'][:12]} {escape_unprintable(each['message'])}"
    for each in side["projects"] if side else ():
        text = "cannot be read" if each["changes"] is None else _count_rules(each["changes"])
        yield f"  {each['name']}: {text}"


def _describe_drafts(shown: dict[str, Any]) -> Iterator[str]:
    yield f"drafts    {'are pushed too' if shown['drafts'] == DraftsPlace.PUSH else 'stay on this node'}"
    for each in shown["draftBranches"]:
        yield f"  {escape_unprintable(each['branch'])} {(each['commit'] or 'not pushed')[:12]}"
        if each["fault"]:
            yield f"    {each['fault']['message']}"


def _count_commits(number: int) -> str:
    return f"{number:,} commit" if number == 1 else f"{number:,} commits"


def _count_rules(changes: dict[str, dict[str, int]]) -> str:
    return count_text({Kind(kind): Counts(**numbers) for kind, numbers in changes.items()})
