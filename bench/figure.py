"""A measured figure beside the figure to reach, and how both are printed."""

from collections.abc import Iterable
from dataclasses import dataclass
from statistics import quantiles

CENTS = 100


@dataclass(frozen=True, slots=True)
class Reach:
    """A bound: `sign` is `>=` or `<=`."""

    sign: str
    bound: float

    def holds(self, value: float) -> bool:
        """Tell whether the value keeps to the bound."""
        return value >= self.bound if self.sign == ">=" else value <= self.bound


def at_least(bound: float) -> Reach:
    """A lower bound."""
    return Reach(">=", bound)


def at_most(bound: float) -> Reach:
    """An upper bound."""
    return Reach("<=", bound)


@dataclass(frozen=True, slots=True)
class Figure:
    """One row: what was measured, the value in its unit, what to reach (None: only told), and what it comes from."""

    what: str
    value: float
    unit: str
    reach: Reach | None = None
    detail: str = ""

    def row(self) -> str:
        """The row of a Markdown table."""
        bound = f"{self.reach.sign} {number(self.reach.bound)}" if self.reach else ""
        verdict = "" if self.reach is None else "yes" if self.reach.holds(self.value) else "**no**"
        return f"| {self.what} | {number(self.value)} {self.unit} | {bound} | {verdict} | {self.detail} |"


def print_head() -> None:
    """Begin the table."""
    print("| what | measured | reach | reached | from |\n|---|---|---|---|---|", flush=True)


def print_figures(figures: Iterable[Figure]) -> None:
    """Print the rows of a group."""
    for figure in figures:
        print(figure.row(), flush=True)


def number(value: float) -> str:
    """A figure with three significant digits, or whole with thousands separated."""
    return f"{value:,.0f}" if abs(value) >= CENTS else f"{value:.3g}"


def percentile(values: Iterable[float], percent: int) -> float:
    """The value that `percent` of the values do not exceed."""
    return quantiles(values, n=CENTS, method="inclusive")[percent - 1]
