"""Fingerprints of problems: equal for the same problem in two reports, also if its line has moved in between."""

from collections import Counter
from collections.abc import Sequence
from hashlib import sha256

from content.records.problem import Problem

_DIGITS = 32


def fingerprint_all(problems: Sequence[Problem]) -> list[str]:
    """Return a fingerprint for each problem, different for each; repeated problems of a file are counted."""
    seen: Counter[tuple[str, str, str]] = Counter()
    found = []
    for each in problems:
        key = each.file, each.code, each.message
        seen[key] += 1
        text = "\0".join((*key, str(seen[key])))
        found.append(sha256(text.encode(errors="surrogatepass")).hexdigest()[:_DIGITS])
    return found
