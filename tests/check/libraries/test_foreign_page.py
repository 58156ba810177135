"""The page of foreign kernels: every command on it parses, every library has its words, every kernel its row."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import click
import pytest

from emu.check.libraries.model import LIBRARIES, find, kernels
from emu.cli.main import commands
from tools.docs.foreign_findings import FINDINGS
from tools.docs.foreign_kernels import one_liners
from tools.foreign_kernels import in_reach

ROOT = Path(__file__).parents[3]
RECORD = json.loads((ROOT / "docs/evidence/foreign_kernels.json").read_text("utf-8"))


@pytest.mark.parametrize("row", [pytest.param(row, id=row["kernel"]) for row in RECORD["rows"] if row["verdict"] != "pass"])
def test_one_liners_are_commands(row: dict[str, str]) -> None:
    for line in one_liners(row):
        _, name, *words = shlex.split(line)
        command = commands.get_command(click.Context(commands), name)
        assert command is not None
        command.make_context(name, words)


def test_every_kernel_has_a_row_and_every_departure_its_words() -> None:
    assert {row["kernel"] for row in RECORD["rows"]} == {kernel.id for kernel in kernels()}
    assert set(RECORD["libraries"]) == set(LIBRARIES) <= set(FINDINGS)
    differing = {row["kernel"] for row in RECORD["rows"] if row["verdict"] != "pass"}
    assert differing == {name for name in FINDINGS if "." in name}


def test_what_identify_is_not_asked_has_no_verdict() -> None:
    for row in RECORD["rows"]:
        assert (row["identified"] is None) == (not in_reach(find(row["kernel"]))), row["kernel"]
