"""docs/tutorial_chip.md: every command runs in its order and prints what the page says; a page that says something else is noticed."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from support.console import commands, differing

PAGE = Path(__file__).resolve().parents[2] / "docs/tutorial_chip.md"


@pytest.mark.exhaustive  # a delivery is made and tests itself twice
def test_every_command_prints_what_the_page_says(tmp_path: Path, need: Callable[..., None]) -> None:
    need("cc", "make", "sed", "grep")
    place = tmp_path / "copy"
    shutil.copytree(PAGE.with_suffix(""), place)
    assert len(commands(PAGE.read_text(encoding="utf-8"))) >= 8
    wrong = differing(PAGE, place)
    assert not wrong, "\n\n".join(wrong)


def test_a_page_that_says_something_else_is_noticed(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("```console\n$ echo 1; echo two\n1\n...\n$ echo 3\n4\n```\n")
    (told,) = differing(page, tmp_path)
    assert told.startswith("$ echo 3\nprinted:\n3\n")
