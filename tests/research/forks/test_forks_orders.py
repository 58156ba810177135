"""The short set of forks: it asserts orders that the whole set established by more than three times its null spread, and no others."""

from pathlib import Path

import pytest

from emu.base.errors import FileError
from research.cli import forks as command
from research.cli.kept_record import answer
from research.forks.config import load
from research.forks.evidence import asserted, margin
from research.forks.record import KIND, RECORD

ROOT = Path(__file__).parents[3]


def comparisons():
    config = load("forks_short").model_dump()
    return [config["primary"], *config["secondary"]]


def test_the_whole_set_established_what_the_short_one_asserts():
    lines = KIND.read(ROOT / RECORD)["runs"]
    assert all(margin(lines, item) > 3 for item in comparisons())
    assert len(asserted(lines, lines, comparisons())) == 3


def test_an_order_that_is_turned_round_is_told_and_one_that_is_not_established_is_not_asked(tmp_path, capsys):
    lines = KIND.read(ROOT / RECORD)["runs"]
    swapped = {"ufp4": "e2m1_baseline", "e2m1_baseline": "ufp4"}
    turned = [item | {"training": swapped.get(item["training"], item["training"])} for item in lines]
    found = asserted(lines, turned, comparisons())
    assert [holds for _, holds in found] == [False, False, True]
    assert answer(tmp_path, command.RECORD, found) == 1
    first = next(text for text, _ in found if text.startswith("kl: ufp4 below e2m1_baseline "))
    assert f"{first}: turned round" in capsys.readouterr().out
    assert answer(tmp_path, command.RECORD, asserted(lines, lines, comparisons())) == 0
    assert [text.split(" (")[0] for text, _ in asserted(turned, lines, comparisons())] == ["kl: ufp4 below ufp4_sr_all"]
    with pytest.raises(FileError, match="establishes no order"):
        answer(tmp_path, command.RECORD, asserted(turned, lines, comparisons()[:2]))
