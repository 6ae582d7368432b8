"""The limits of regular expressions; their costs are counted in instructions of RE2's program."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class PatternLimits:
    """The highest costs of a rule, of a project, and of the new rules of one call; `seconds` of CPU bound a call too."""

    rule: int = 5_000
    project: int = 4_000_000
    call: int = 4_000_000
    seconds: int = 20


DEFAULT_LIMITS = PatternLimits()
