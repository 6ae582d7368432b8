"""The table of risks in the how-to of pull requests: every risk that a comment can name."""

from content.changes.risk import Risk
from tests.docs.blocks import rows
from tests.service import ROOT


def test_every_risk_of_a_comment_is_described() -> None:
    text = (ROOT / "docs/how-to/review-rules-in-pull-requests.md").read_text("utf-8")
    described = {risk for row in rows(text) for risk in row[0].split(", ")} | {row[0] for row in rows(text)}
    assert {str(risk) for risk in Risk} <= described
