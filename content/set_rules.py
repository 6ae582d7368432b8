"""What is wrong only in the set: rules that stand twice, lead in circles, or can never answer."""

from collections.abc import Iterable, Iterator

from content.canonical import exact_key, split_host
from content.match import Chain, Match
from content.matching import Matcher
from content.onward import Onward
from content.problem import Problem
from content.problem_codes import problem
from content.reach_rules import Reach
from content.record import Page, Placed, Record, Redirect
from content.request import Request, parse_key
from content.template import Template, location_of

HOPS = 20
"""Where browsers give up."""
_ANY = Request(None, "", None)
"""Stands for whatever a regex matches: no request is equal to it."""


def duplicate_problems(placed: Iterable[Placed[Record]]) -> list[Problem]:
    """Every redirect or page whose source or path an earlier one has, with the place of the first."""
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
    message = f'the {name} "{item.record.identity[:200]}" stands already {_place(earlier)}'
    return problem(f"duplicate_{name}", message, f"/{name}").at(item.file, item.line)


def _place(placed: Placed[Record]) -> str:
    file = f"in {placed.file}" if placed.file else "earlier"
    return f"{file}, line {placed.line}" if placed.line else file


def set_problems(
    matcher: Matcher, redirects: Iterable[Placed[Redirect]], pages: Iterable[Placed[Page]]
) -> list[Problem]:
    """What is wrong with these rules among all rules of the matcher; a caller may pass only those that changed."""
    reach, onward = Reach(matcher), Onward(matcher)
    found = []
    for redirect in redirects:
        if redirect.record.type.is_exact:
            problems = _exact(matcher, redirect, onward)
        else:
            problems = _regex(matcher, redirect, reach)
        found += [item.at(redirect.file, redirect.line) for item in problems]
    for page in pages:
        found += [item.at(page.file, page.line) for item in _page(matcher, page)]
    return found


def _exact(matcher: Matcher, placed: Placed[Redirect], onward: Onward) -> Iterable[Problem]:
    record = placed.record
    has_host = record.type.has_host
    key = exact_key(has_host, record.source)
    if not key:
        return ()
    first = matcher.source.redirect(matcher.source.redirects_at(key)[0])
    if first.record.source != record.source:
        return [problem("shadowed", f"never used: {_place(first)} stands a rule with an equal source", "/source")]
    if onward.ends(split_host(key)[0] if has_host else "", record.target):
        return ()
    match = Match(placed, None, location_of(record.target))
    return _chain(matcher.follow_from(parse_key(key), match, HOPS))


def _regex(matcher: Matcher, placed: Placed[Redirect], reach: Reach) -> Iterator[Problem]:
    yield from reach.problems(placed)
    chains = [matcher.follow_from(_ANY, match, HOPS) for match in _sampled(placed)]
    if len(chains) == 1:
        yield from _chain(chains[0])
    elif circle := next(filter(_is_circle, chains), None):
        yield from _chain(circle)
    elif any(_answers_again(chain) for chain in chains):
        message = "the rule can match what it redirects to; narrow its source"
        yield problem("regex_matches_target", message, "/target")


def _sampled(placed: Placed[Redirect]) -> list[Match]:
    """What the rule answers: all that it can where its target has no references, else two plain captures."""
    template = Template.parse(placed.record.target)
    samples = [(sample,) * template.highest_group for sample in ("x", "1")] if template.groups else [()]
    return [Match(placed, None, template.expand(captures), captures) for captures in samples]


def _chain(chain: Chain) -> Iterator[Problem]:
    """A loop is told of the rules in it; of a rule that only leads into one it is told as a chain."""
    hops = chain.hops
    locations = [hop.match.location for hop in hops if hop.match.redirect]
    trail = " → ".join(filter(None, (hops[0].request.text, *locations[:5])))
    if _is_circle(chain):
        yield problem("redirect_loop", f"this redirects for ever: {trail}", "/target")
    elif chain.endless:
        yield problem("chain", f"the target is redirected until browsers give up: {trail}", "/target")
    elif len(locations) > 1:
        yield problem("chain", f"the target is redirected again; redirect to {locations[-1]} directly", "/target")


def _is_circle(chain: Chain) -> bool:
    """True where the chain never ends and its first rule is a part of that."""
    return chain.endless and (chain.back_to == 0 or _answers_again(chain))


def _answers_again(chain: Chain) -> bool:
    first = chain.hops[0].match.rule.record.identity
    return any(hop.match.redirect and hop.match.redirect.record.identity == first for hop in chain.hops[1:])


def _page(matcher: Matcher, placed: Placed[Page]) -> Iterator[Problem]:
    record = placed.record
    key = exact_key(record.type.has_host, record.path)
    match = matcher.match(parse_key(key)) if key else None
    if match is None:
        return
    if match.page and match.page.record.path != record.path:
        yield problem("shadowed", f"never used: {_place(match.page)} stands a page with an equal path", "/path")
    if match.redirect:
        yield _hidden(match.redirect, key)


def _hidden(redirect: Placed[Redirect], key: str) -> Problem:
    record = redirect.record
    same = record.type.is_exact and exact_key(record.type.has_host, record.source) == key
    message = f'never served: the redirect "{record.source[:200]}" ({_place(redirect)}) answers first'
    found = problem("page_unreachable", message, "/path")
    return found if same else found.as_warning()
