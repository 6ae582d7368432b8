"""States of a project for laws: few identities and few values, so that the sides of a merge meet often."""

from collections.abc import Mapping

from hypothesis import strategies as st

from content.records.record import Page, Placed, Record, Redirect
from content.records.vocabulary import ContentType, PageType, RedirectStatus, RedirectType

PlacedRules = dict[str, Placed[Record]]

_KEYS = [f"/{letter}" for letter in "abcdefg"]
_NOTES = st.sampled_from(["", "why"])
_TAGS = st.sampled_from([(), ("old",), ("old", "shop")])
_FILES = st.sampled_from(["shop/redirects.yaml", "shop/redirects/a.yaml"])


def redirects(source: str) -> st.SearchStrategy[Record]:
    """Return a strategy for redirects of one source."""
    return st.builds(
        Redirect,
        st.sampled_from([RedirectType.BASIC, RedirectType.REGEX]),
        st.just(source),
        st.sampled_from(["/x", "/y", "/z"]),
        st.sampled_from([RedirectStatus.FOUND, RedirectStatus.MOVED_PERMANENT]),
        _NOTES,
        _TAGS,
    )


def pages(path: str) -> st.SearchStrategy[Record]:
    """Return a strategy for pages of one path."""
    return st.builds(
        Page,
        st.just(PageType.BASIC),
        st.just(path),
        st.sampled_from(["", "one", "two"]),
        st.sampled_from(ContentType),
        _NOTES,
        _TAGS,
        st.sampled_from(["", "robots.txt"]),
    )


@st.composite
def edited(draw: st.DrawFn, before: Mapping[str, Placed[Record]], *, of_pages: bool) -> PlacedRules:
    """Draw a state in which some rules of `before` are removed, changed, moved or new, or all are reordered."""
    record = pages if of_pages else redirects
    after = {key: placed for key, placed in before.items() if draw(st.sampled_from([True, True, True, False]))}
    for key in draw(st.lists(st.sampled_from(_KEYS), unique=True, max_size=3)):
        fresh = Placed(draw(record(key)), draw(_FILES))
        after = after | {key: fresh} if key in after else _inserted(after, draw(st.integers(0, len(after))), key, fresh)
    keys = draw(st.permutations(list(after))) if draw(st.booleans()) else list(after)
    return _in_files({key: after[key] for key in keys})


@st.composite
def three_states(draw: st.DrawFn) -> tuple[PlacedRules, PlacedRules, PlacedRules]:
    """Draw a base and two states that were derived from it, all of redirects or all of pages."""
    of_pages = draw(st.booleans())
    base = draw(edited({}, of_pages=of_pages))
    base = draw(edited(base, of_pages=of_pages))
    return base, draw(edited(base, of_pages=of_pages)), draw(edited(base, of_pages=of_pages))


def _inserted(state: PlacedRules, place: int, key: str, placed: Placed[Record]) -> PlacedRules:
    items = list(state.items())
    return dict([*items[:place], (key, placed), *items[place:]])


def _in_files(state: PlacedRules) -> PlacedRules:
    return dict(sorted(state.items(), key=lambda item: item[1].file))
