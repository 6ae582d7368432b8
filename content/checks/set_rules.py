"""Checks of the rules together: duplicates, loops, chains, and rules that never answer."""

from collections.abc import Iterable, Iterator, Sequence

from content.checks.reach_rules import RegexReachability
from content.checks.record_rules import record_problems
from content.matching.canonical import exact_key, split_host
from content.matching.hashed_rules import HashedRules
from content.matching.match import Chain, Match
from content.matching.matcher import Matcher
from content.matching.onward import ChainEndCheck
from content.matching.request import Request, parse_key
from content.matching.template import Template, location_of
from content.records.problem import Problem, errors
from content.records.problem_codes import problem
from content.records.record import Page, Placed, Record, Redirect

MAX_HOPS = 20  # the limit of browsers, https://fetch.spec.whatwg.org/#http-redirect-fetch
_MOST_SHOWN = 5  # locations of a chain in a message
_LONGEST_SHOWN = 200  # characters of each
_ANY_REQUEST = Request(None, "", None)  # for any text that a regex matches: no request is equal to it


def duplicate_problems(placed: Iterable[Placed[Record]]) -> list[Problem]:
    """Return a problem for every redirect or page that repeats a source or path, with the place of the first."""
    first: dict[tuple[bool, str], Placed[Record]] = {}
    found = []
    for item in placed:
        key = (isinstance(item.record, Redirect), item.record.identity)
        earlier = first.setdefault(key, item)
        if earlier is not item:
            found.append(_duplicate(item, earlier))
    return found


def _duplicate(item: Placed[Record], earlier: Placed[Record]) -> Problem:
    name = "source" if isinstance(item.record, Redirect) else "path"
    message = f'"{item.record.identity[:200]}" is already {_format_place(earlier)}'
    return problem(f"duplicate_{name}", message, f"/{name}").at(item.file, item.line)


def _format_place(placed: Placed[Record]) -> str:
    if not placed.file:
        return f"in line {placed.line}" if placed.line else "in the list"
    return f"at {placed.file}:{placed.line}" if placed.line else f"in {placed.file}"


def set_problems(
    matcher: Matcher, redirects: Iterable[Placed[Redirect]], pages: Iterable[Placed[Page]]
) -> list[Problem]:
    """Return the problems of these rules among all rules of the matcher; a caller may pass only changed rules."""
    check = SetCheck(matcher)
    found = [problem for redirect in redirects for problem in check.redirect_problems(redirect)]
    return found + [problem for page in pages for problem in check.page_problems(page)]


def listed_problems(
    matcher: Matcher, rules: HashedRules, redirects: Iterable[tuple[int, Placed[Redirect]]]
) -> list[Problem]:
    """Return the problems of redirects of the list that the matcher has, each with its position there.

    It equals `set_problems`. Nearly all redirects have a key of their own and a target that no rule answers, so
    nothing is looked up for them but the target.
    """
    check = SetCheck(matcher)
    found: list[Problem] = []
    for position, placed in redirects:
        if not (rules.has_own_key(position) and check.ends_chain(placed.record)):
            found += check.redirect_problems(placed)
    return found


class SetCheck:
    """The check of single rules among all rules of a matcher."""

    def __init__(self, matcher: Matcher) -> None:
        self._matcher = matcher
        self._reachability, self._onward = RegexReachability(matcher), ChainEndCheck(matcher)

    def ends_chain(self, record: Redirect) -> bool:
        """Return true where certainly no redirect answers the target of an exact rule."""
        host = split_host(exact_key(True, record.source))[0] if record.type.has_host else ""  # noqa: FBT003 - as in `exact_key`
        return self._onward.ends_chain(host, record.target)

    def redirect_problems(self, placed: Placed[Redirect]) -> list[Problem]:
        """Return the problems of a redirect, at its place."""
        found: Iterable[Problem]
        if placed.record.type.is_exact:
            found = _exact_problems(self._matcher, placed, self._onward)
        else:
            found = _regex_problems(self._matcher, placed, self._reachability)
        found = list(found)
        if any(item.pointer == "/target" for item in found) and _has_refused_target(placed.record):
            found = [item for item in found if item.pointer != "/target"]  # they are of a target that nothing will have
        return [item.at(placed.file, placed.line) for item in found]

    def page_problems(self, placed: Placed[Page]) -> list[Problem]:
        """Return the problems of a page, at its place."""
        return [item.at(placed.file, placed.line) for item in _page_problems(self._matcher, placed)]


def _has_refused_target(record: Redirect) -> bool:
    """Tell whether the target has an error by itself."""
    return any(each.pointer == "/target" for each in errors(record_problems(record)))


def _exact_problems(matcher: Matcher, placed: Placed[Redirect], onward: ChainEndCheck) -> Iterable[Problem]:
    record = placed.record
    has_host = record.type.has_host
    key = exact_key(has_host, record.source)
    if not key:
        return ()
    first = matcher.source.redirect(matcher.source.redirects_at(key)[0])
    if first.record.source != record.source:
        return [problem("shadowed", f"never used: a rule with an equal source is {_format_place(first)}", "/source")]
    if onward.ends_chain(split_host(key)[0] if has_host else "", record.target):
        return ()
    match = Match(placed, None, location_of(record.target))
    return _chain_problems(matcher.follow_from(parse_key(key), match, MAX_HOPS))


def _regex_problems(matcher: Matcher, placed: Placed[Redirect], reachability: RegexReachability) -> Iterator[Problem]:
    yield from reachability.problems(placed)
    chains = [matcher.follow_from(_ANY_REQUEST, match, MAX_HOPS) for match in _sample_matches(placed)]
    if len(chains) == 1:
        yield from _chain_problems(chains[0])
    elif loop := next(filter(_is_loop, chains), None):
        yield from _chain_problems(loop)
    elif any(_repeats_first_rule(chain) for chain in chains):
        message = "the rule can match its own target; narrow its source"
        yield problem("regex_matches_target", message, "/target")


def _sample_matches(placed: Placed[Redirect]) -> list[Match]:
    """Return the answers of the rule: all of them for a target without references, else two with plain captures."""
    template = Template.parse(placed.record.target)
    samples = [(sample,) * template.highest_group for sample in ("x", "1")] if template.groups else [()]
    return [Match(placed, None, template.expand(captures), captures) for captures in samples]


def _chain_problems(chain: Chain) -> Iterator[Problem]:
    """Yield the problem of a chain: a loop for the rules in it, a chain for a rule that only leads into a loop."""
    hops = chain.hops
    locations = [hop.match.location for hop in hops if hop.match.redirect]
    trail = " → ".join(filter(None, (hops[0].request.text, *_shorten(locations))))
    if _is_loop(chain):
        yield problem("redirect_loop", f"endless redirect: {trail}", "/target")
    elif chain.is_endless:
        yield problem("chain", f"the redirect chain is longer than browsers follow: {trail}", "/target")
    elif len(locations) > 1:
        yield problem(
            "chain", f"the target is redirected again: {trail}; redirect to {locations[-1]} directly", "/target"
        )


def _shorten(locations: Sequence[str]) -> list[str]:
    """Return the first locations of a chain and its last one, each cut to a length that a line has room for."""
    shown = locations if len(locations) <= _MOST_SHOWN else [*locations[: _MOST_SHOWN - 1], "…", locations[-1]]
    return [each if len(each) <= _LONGEST_SHOWN else f"{each[:_LONGEST_SHOWN]}…" for each in shown]


def _is_loop(chain: Chain) -> bool:
    """Return whether the chain never ends and its first rule is part of the loop."""
    return chain.is_endless and (chain.loop_start == 0 or _repeats_first_rule(chain))


def _repeats_first_rule(chain: Chain) -> bool:
    first = chain.hops[0].match.rule.record.identity
    return any(hop.match.redirect and hop.match.redirect.record.identity == first for hop in chain.hops[1:])


def _page_problems(matcher: Matcher, placed: Placed[Page]) -> Iterator[Problem]:
    record = placed.record
    key = exact_key(record.type.has_host, record.path)
    match = matcher.match(parse_key(key)) if key else None
    if match is None:
        return
    if match.page and match.page.record.path != record.path:
        yield problem("shadowed", f"never used: a page with an equal path is {_format_place(match.page)}", "/path")
    if match.redirect:
        yield _unreachable_page(match.redirect, key)


def _unreachable_page(redirect: Placed[Redirect], key: str) -> Problem:
    record = redirect.record
    same = record.type.is_exact and exact_key(record.type.has_host, record.source) == key
    message = f'never served: the redirect "{record.source[:200]}" ({_format_place(redirect)}) answers first'
    found = problem("page_unreachable", message, "/path")
    return found if same else found.as_warning()
