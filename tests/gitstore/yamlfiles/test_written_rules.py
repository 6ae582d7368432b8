"""New files of rules: what is known of them without reading is what a reader finds."""

from hypothesis import given
from hypothesis import strategies as st

from content.checks.record_rules import record_problems
from content.records.problem import errors
from content.records.record import Redirect
from content.records.vocabulary import Kind
from gitstore.yamlfiles.dump import dump_flow, dump_json, file_fields, new_file
from gitstore.yamlfiles.rule_file import load, written_rules
from tests.content.rules import redirects

_valid = redirects().filter(lambda rule: not errors(record_problems(rule)))


@given(st.lists(_valid, max_size=5))
def test_written_rules_are_those_that_are_read(rules: list[Redirect]) -> None:
    data = new_file(Kind.REDIRECTS, rules, "flow")
    assert written_rules(rules, data) == load(data, "")


@given(st.lists(_valid, min_size=1, max_size=5))
def test_a_line_of_a_rule_is_its_fields_as_json(rules: list[Redirect]) -> None:
    assert [dump_flow(rule) for rule in rules] == [f"  - {dump_json(file_fields(rule))}\n" for rule in rules]
