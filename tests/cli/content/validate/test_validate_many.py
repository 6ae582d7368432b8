"""`waypost validate` of many rules: the same problems with one core and with all of them."""

import json
import os
import subprocess
import sys
from pathlib import Path

from tests.cli.rule_folders import PROJECT, write
from tests.cli.terminal import run
from tests.service import ROOT

FILES, RULES = 30, 400


def many_rules(folder: Path) -> None:
    """Write 12,000 rules in the layout of imports, with chains, loops, duplicates, patterns, notes and pages among them."""
    files = {}
    for number in range(FILES):
        rules = []
        for at in range(number * RULES, (number + 1) * RULES):
            rule = {"type": "BASIC", "source": f"/old/{at}", "target": f"/new/{at}", "status": "FOUND"}
            if at % 500 == 7:
                rule["target"] = f"/old/{at + 1}"
            elif at % 997 == 3:
                rule["source"] = f"/old/{at - 1}"
            elif at % 1201 == 5:
                rule |= {"source": "no-slash", "note": "a note"}
            elif at % 1300 == 11:
                rule |= {"type": "REGEX", "source": f"^/old/{at - 1}$", "tags": ["a", "b"]}  # type: ignore[dict-item]  # JSON
            elif at % 1500 == 13:
                rule["target"] = f"/old/{at}"
            elif at % 400 == 21:
                rule["note"] = "kept"
            rules.append(f"  - {json.dumps(rule)}\n")
        files[f"redirects/{number:03}.yaml"] = "redirects:\n" + "".join(rules)
    pages = "pages:\n  - {type: BASIC, path: /old/0, contentType: TEXT_PLAIN, content: x}\n"
    write(folder, {"project.yaml": PROJECT, "pages.yaml": pages, **files})


def test_all_cores_find_what_one_finds(work_folder: Path, tmp_path: Path) -> None:
    many_rules(work_folder / "rules" / "shop")
    all_cores = run("validate", "rules", "--format", "json")
    one = subprocess.run(
        [sys.executable, "-m", "cli.main", "validate", "rules", "--format", "json"],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        preexec_fn=lambda: os.sched_setaffinity(0, {min(os.sched_getaffinity(0))}),
        check=False,
        capture_output=True,
        timeout=60,
    )
    cached = run("validate", "rules", "--format", "json", "--cache", tmp_path / "cache")
    again = run("validate", "rules", "--format", "json", "--cache", tmp_path / "cache")
    assert all_cores.code == one.returncode == 1
    assert all_cores.json == json.loads(one.stdout) == cached.json == again.json
    found = {each["code"] for each in all_cores.json["counts"]}
    assert found >= {
        "chain",
        "redirect_loop",
        "duplicate_source",
        "missing_slash",
        "regex_unreachable",
        "page_unreachable",
    }


def test_reading_and_checking_are_on_every_core(work_folder: Path) -> None:
    many_rules(work_folder / "rules" / "shop")
    code = (
        "import os\nfrom cli.main import waypost\nstarted, fork = [], os.fork\n"
        "def counted():\n    process = fork()\n    started.append(process)\n    return process\n"
        "os.fork = counted\n"
        "try:\n    waypost.main(['validate', 'rules', '--counts'], standalone_mode=False)\n"
        "except Exception as ex:\n    print(type(ex).__name__)\n"
        "print(len(started), len(os.sched_getaffinity(0)))"
    )
    found = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        check=True,
        capture_output=True,
        text=True,
        timeout=60,
    )
    *_, ended, last = found.stdout.splitlines()
    started, cores = map(int, last.split())
    assert ended == "ProblemsFound"
    assert started == 2 * (cores - 1)  # once to read, once to check; this process has a share
