"""Measured figures with their targets, and their printed form."""

from collections.abc import Iterable
from dataclasses import dataclass
from statistics import quantiles

CENTS = 100


@dataclass(frozen=True, slots=True)
class Target:
    """A bound: `sign` is `>=` or `<=`."""

    sign: str
    bound: float

    def is_met(self, value: float) -> bool:
        """Tell whether the value is within the bound."""
        return value >= self.bound if self.sign == ">=" else value <= self.bound


def at_least(bound: float) -> Target:
    """Return a lower bound."""
    return Target(">=", bound)


def at_most(bound: float) -> Target:
    """Return an upper bound."""
    return Target("<=", bound)


@dataclass(frozen=True, slots=True)
class Figure:
    """One row: label, value and unit, target (None: only reported), and details of the measurement."""

    label: str
    value: float
    unit: str
    target: Target | None = None
    detail: str = ""

    def row(self) -> str:
        """Return the row of a Markdown table."""
        bound = f"{self.target.sign} {number(self.target.bound)}" if self.target else ""
        verdict = "" if self.target is None else "yes" if self.target.is_met(self.value) else "**no**"
        return f"| {self.label} | {number(self.value)} {self.unit} | {bound} | {verdict} | {self.detail} |"


def print_head() -> None:
    """Print the head of the table."""
    print("| figure | measured | target | met | details |\n|---|---|---|---|---|", flush=True)


def print_figures(figures: Iterable[Figure]) -> None:
    """Print the rows of a group."""
    for figure in figures:
        print(figure.row(), flush=True)


def number(value: float) -> str:
    """Format a number with three significant digits, or as an integer with thousands separators."""
    return f"{value:,.0f}" if abs(value) >= CENTS else f"{value:.3g}"


def percentile(values: Iterable[float], percent: int) -> float:
    """Return the value that `percent` of the values do not exceed."""
    return quantiles(values, n=CENTS, method="inclusive")[percent - 1]
