"""The settings that a restored repository keeps: none of them names a program, a file or a host."""

import pytest

from gitstore.git.safe_config import read_safe_config


@pytest.mark.parametrize(
    "text",
    [
        '[merge "x"]\n\tdriver = touch /tmp/x\n',
        "[gc]\n\trecentObjectsHook = touch /tmp/x\n",
        "[uploadpack]\n\tpackObjectsHook = touch /tmp/x\n",
        "[receive]\n\tprocReceiveRefs = refs/heads/x\n",
        "[core]\n\tfsmonitor = touch /tmp/x\n",
        "[core]\n\thooksPath = /tmp/hooks\n",
        "[core]\n\tsshCommand = touch /tmp/x\n",
        "[fsck]\n\tskipList = /etc/passwd\n",
        "[receive]\n\tcertNonceSeed = secret\n",
        "[http]\n\tsslCAInfo = /tmp/ca\n",
        '[http "https://a.example"]\n\textraHeader = x\n',
        "[fetch]\n\tbundleURI = https://a.example/b\n",
        "[include]\n\tpath = /tmp/other\n",
        "[alias]\n\tx = !touch /tmp/x\n",
        '[filter "x"]\n\tclean = touch /tmp/x\n',
    ],
)
def test_a_setting_that_names_a_program_a_file_or_a_host_is_left_out(text: str) -> None:
    safe, left_out = read_safe_config(text.encode())
    assert len(left_out) == 1
    assert not list(safe.sections())


def test_harmless_settings_stay() -> None:
    text = (
        b"[core]\n\tbare = true\n[gc]\n\tauto = 0\n[receive]\n\tfsckObjects = true\n[transfer]\n\tfsckObjects = true\n"
    )
    safe, left_out = read_safe_config(text)
    assert left_out == []
    assert safe.get((b"gc",), b"auto") == b"0"
    assert len(list(safe.sections())) == 4
