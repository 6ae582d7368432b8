"""`waypost validate --fix`: safe fixes in files, with every comment, once and for all."""

import time
from collections import Counter
from pathlib import Path

import pytest

from gitstore.yamlfiles.comments import find_comments
from gitstore.yamlfiles.yaml_reader import read
from tests.cli.rule_folders import flow, project
from tests.cli.terminal import invoke, invoke_ok

RULES = """\
# the shop
redirects:
  # first
  - type: BASIC
    source: /a  # from the flyer
    target: /b  # soon elsewhere
    status: FOUND

  - {type: BASIC, source: /b, target: /c, status: FOUND} # second
  # a code
  - type: BASIC
    source: '/caf%c3%a9'
    target: https://WWW.Example.com/Caf
    status: 301
  # the copy
  - type: BASIC  # again
    source: /a
    target: /b
    status: FOUND
    # below the copy
  # last
  - {"type": "BASIC_HOST", "source": "Shop.Example/x", "target": "https://shop.example/y", "status": "FOUND"}
# the end
"""
FIXED = """\
# the shop
redirects:
  # first
  # the copy
  # again
  # below the copy
  - type: BASIC
    source: /a  # from the flyer
    target: /c  # soon elsewhere
    status: FOUND

  - {type: BASIC, source: /b, target: /c, status: FOUND} # second
  # a code
  - type: BASIC
    source: '/caf%C3%A9'
    target: https://www.example.com/Caf
    status: 301
  # last
  - {"type": "BASIC_HOST", "source": "shop.example/x", "target": "https://shop.example/y", "status": "FOUND"}
# the end
"""


@pytest.fixture(autouse=True)
def work_folder(work_folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Change to a folder without a data directory."""
    content = work_folder / "rules"
    content.mkdir()
    monkeypatch.chdir(content)
    return content


def comments(path: Path) -> Counter[str]:
    return Counter(each.text for each in find_comments(read(path.read_bytes(), "")))


def test_what_is_safe_is_fixed_and_every_comment_stays(work_folder: Path) -> None:
    path = project(work_folder / "shop", {"redirects.yaml": RULES}) / "redirects.yaml"
    path.chmod(0o600)
    before = comments(path)
    outcome = invoke_ok("validate", "--fix")
    assert path.read_text() == FIXED
    assert (comments(path), path.stat().st_mode & 0o777) == (before, 0o600)
    assert outcome.err == (
        "Fixed in 1 file: 2 hosts, 1 encoding, 1 duplicate, 1 chain.\n1 project: 0 errors, 0 warnings.\n"
    )
    again = invoke_ok("validate", "--fix", "--format", "json")
    assert again.json["fixed"] == {"files": [], "counts": {}}
    assert path.read_text() == FIXED
    assert invoke_ok("validate", "--fix").err.startswith("Nothing to fix.\n")


def test_a_duplicate_in_another_file_leaves_its_comment_there(work_folder: Path) -> None:
    rule = "  - {type: BASIC, source: /a, target: /b, status: FOUND}\n"
    files = {"redirects/1.yaml": f"redirects:\n{rule}", "redirects/2.yaml": f"redirects:\n  # why\n{rule}"}
    project(work_folder / "shop", {"redirects.yaml": flow("/other"), **files})
    found = invoke_ok("validate", "--fix", "--format", "json").json
    assert found["fixed"] == {
        "files": ["shop/redirects/2.yaml", "shop/redirects/1.yaml"],
        "counts": {"duplicate": 1},
    }
    assert (work_folder / "shop/redirects/1.yaml").read_text() == f"redirects:\n  # why\n{rule}"
    assert (work_folder / "shop/redirects/2.yaml").read_text() == "redirects: []\n"


def test_a_duplicate_whose_comment_has_no_place_stays(work_folder: Path) -> None:
    rule = "{type: BASIC, source: /a, target: /b, status: FOUND}"
    rules = f"redirects: [{rule},\n  # why\n  {rule},\n  {{type: BASIC, source: /b, target: /c, status: FOUND}}]\n"
    path = project(work_folder / "shop", {"redirects.yaml": rules}) / "redirects.yaml"
    assert invoke("validate", "--fix").code == 1
    assert "# why" in path.read_text()


def test_windows_line_ends_and_a_byte_order_mark_stay(work_folder: Path) -> None:
    project(work_folder / "shop", {"redirects.yaml": "\ufeff" + RULES.replace("\n", "\r\n")})
    invoke_ok("validate", "--fix")
    path = work_folder / "shop" / "redirects.yaml"
    assert path.read_bytes().decode() == "\ufeff" + FIXED.replace("\n", "\r\n")


def test_a_project_with_unread_rules_gets_no_flat_chains_and_the_broken_file_stays(work_folder: Path) -> None:
    broken = "redirects:\n  - {type: BASIC, source: /caf%c3%a9, target: /x}\n"
    project(work_folder / "shop", {"redirects.yaml": RULES, "redirects/broken.yaml": broken})
    outcome = invoke("validate", "--fix")
    assert (outcome.code, "[missing_field]" in outcome.out, "[chain]" in outcome.out) == (1, True, True)
    assert (work_folder / "shop/redirects/broken.yaml").read_text() == broken
    assert "target: /b  # soon elsewhere" in (work_folder / "shop/redirects.yaml").read_text()


def test_rules_with_errors_are_read_and_do_not_stop_other_fixes(work_folder: Path) -> None:
    bad = RULES.replace("# the end", "  - {type: BASIC, source: /bad, target: '//x', status: FOUND}\n# the end")
    path = project(work_folder / "shop", {"redirects.yaml": bad}) / "redirects.yaml"
    assert "[bad_target]" in invoke("validate", "--fix").out
    assert "target: /c  # soon elsewhere" in path.read_text()


def test_a_project_s_own_tests_still_pass(work_folder: Path) -> None:
    tests = "tests:\n  - {url: /a, status: 302, location: /b}\n"
    project(work_folder / "shop", {"redirects.yaml": RULES, "tests.yaml": tests})
    outcome = invoke_ok("validate", "--fix")
    assert "[chain]" in outcome.out
    assert "\nshop/redirects.yaml:7: chain not fixed: a test names its location.\n" in outcome.err
    assert "[test_failed]" not in outcome.out


def test_pages_are_fixed_too(work_folder: Path) -> None:
    page = "  - {type: BASIC_HOST, path: %s/robots.txt, contentType: TEXT_PLAIN, file: robots.txt}\n"
    pages = f"pages:\n{page % 'WWW.example'}{page % 'www.example'}"
    project(work_folder / "shop", {"pages.yaml": pages, "robots.txt": "x"})
    invoke_ok("validate", "--fix")
    assert (work_folder / "shop/pages.yaml").read_text() == f"pages:\n{page}".replace(
        "%s/robots.txt,", '"www.example/robots.txt",'
    )


def test_a_bare_repository_is_never_changed(data: Path) -> None:
    outcome = invoke("validate", data / "repos" / "sample.git", "--fix")
    assert (outcome.code, "Run --fix in a working tree" in outcome.err) == (2, True)


def test_thousands_of_duplicates_with_comments_are_dropped_in_seconds(work_folder: Path) -> None:
    """Each with lines of its own above: 8,000 took 25 seconds when the lines that meet were read again and again."""
    rule = "  # {0}\n\n  - type: BASIC # own\n    source: /a{1}\n    target: /b\n    status: FOUND\n"
    text = "redirects:\n" + "".join(rule.format(number, number % 10) for number in range(8_000))
    path = project(work_folder / "shop", {"redirects.yaml": text}) / "redirects.yaml"
    before, begun = comments(path), time.process_time()
    assert "7,990 duplicates" in invoke_ok("validate", "--fix").err
    assert time.process_time() - begun < 10
    assert sum(before.values()) - sum(comments(path).values()) == 0


def test_a_file_whose_comment_has_no_place_in_the_fixed_text_stays(work_folder: Path) -> None:
    rules = 'redirects:\n  - type: BASIC\n    source: "/f%c3%9f\\u000a::x" # c0\n    target: /u\n    status: 301\n'
    folder = project(work_folder / "shop", {"redirects.yaml": rules, "redirects/more.yaml": flow("/caf%c3%a9")})
    outcome = invoke("validate", "--fix", folder)
    assert (outcome.code, "[control_character]" in outcome.out) == (1, True), outcome.err
    assert "Fixed in 1 file" in outcome.err
    assert (folder / "redirects.yaml").read_text() == rules
