"""The golden digests are those of the spec; a difference prints which objects changed and the command that takes the new ones over."""

import os
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from support.whole import tries

from emu.spec import KINDS, names

COMMAND = "EMU_GOLDEN=write pytest tests/mutation -m mutants -k golden"
HEADER = f"# What every object does to fixed inputs, as one digest. To take over what changed: {COMMAND}\ndigests:\n"
GOLDEN = Path(__file__).with_name("golden.yaml")
ALL = [(kind, name) for kind in KINDS for name in names(kind)]
QUICK = [item for number, item in enumerate(ALL) if number % (tries(24, 6) if item[0] == "recipe" else tries(3, 1)) == 0]


def changed(found: list[tuple[str, str]], line: Callable[[str, str], str]) -> str:
    """The lines that are not in the golden file, and the command; empty when all are."""
    old = GOLDEN.read_text(encoding="utf-8").splitlines()
    new = [text for text in (line(*item) for item in found) if text not in old]
    return "\n".join(["what these objects do has changed:", *new[:20], f"to take it over: {COMMAND}"]) if new else ""


def test_every_object_has_a_golden_digest() -> None:
    known = re.findall(r'^  - \{kind: "([^"]+)", id: "([^"]+)"', GOLDEN.read_text(encoding="utf-8"), re.MULTILINE)
    assert sorted(known) == sorted(ALL), f"an object came or went; to take it over: {COMMAND}"


@pytest.mark.exhaustive
def test_golden_digests_of_a_choice(golden_lines: Callable[[str, str], str]) -> None:
    assert len(QUICK) > tries(30, 70)
    assert (text := changed(QUICK, golden_lines)) == "", text


@pytest.mark.mutants
def test_golden_digests(golden_lines: Callable[[str, str], str]) -> None:
    if os.environ.get("EMU_GOLDEN") == "write":
        GOLDEN.write_text(HEADER + "".join(f"{golden_lines(*item)}\n" for item in ALL), encoding="utf-8")
    assert (text := changed(ALL, golden_lines)) == "", text
    assert GOLDEN.read_text(encoding="utf-8").count("\n") == len(ALL) + 2
