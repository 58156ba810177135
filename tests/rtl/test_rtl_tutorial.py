"""docs/tutorial_rtl.md: every command runs in its order and prints what the page says; the design that is shipped has the five faults."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from support.console import followed

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs/tutorial_rtl.md"
FAULTS = ("3'd1: size = 0;", "= cut[19:0];", "= sum >>> 12;", "is_nan <= nan;", "exponent = scale[6:3];")


def test_the_design_has_the_faults_that_the_page_mends() -> None:
    design, page = (PAGE.with_suffix("") / "lane16.sv").read_text(), PAGE.read_text(encoding="utf-8")
    for number, fault in enumerate(FAULTS, 1):
        assert design.count(fault) == 1 and f"**Fault {number}**" in page


@pytest.mark.exhaustive  # a run of the bench and an explanation for each of five faults
def test_every_command_prints_what_the_page_says(tmp_path: Path, need: Callable[..., None]) -> None:
    need("iverilog", "sed", "grep")
    place = followed(PAGE, tmp_path, 16)
    assert not any(re.search(re.escape(fault), (place / "lane16.sv").read_text()) for fault in FAULTS)
