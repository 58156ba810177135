"""docs/tutorial_*.md: every command runs in its order and prints what the page says; a page that says something else is noticed."""

from collections.abc import Callable
from pathlib import Path

import pytest
from support.console import differing, followed

DOCS = Path(__file__).resolve().parents[2] / "docs"
ELSEWHERE = ("rtl", "kernel", "e1m2")  # tests/rtl/test_rtl_tutorial.py, test_docs_tutorial_triton.py, below
# and how many commands they have at least
PAGES = {"chip": 8, "format": 12, "gemm": 5, "checkpoint": 12}


@pytest.mark.exhaustive  # a delivery is made and tests itself twice; kernels are checked whole
@pytest.mark.parametrize("name", PAGES)
def test_every_command_prints_what_the_page_says(tmp_path: Path, need: Callable[..., None], name: str) -> None:
    need("cc", "make", "sed", "grep")
    followed(DOCS / f"tutorial_{name}.md", tmp_path, PAGES[name])


@pytest.mark.exhaustive  # a product is synthesised, a real model is run
def test_the_evidence_is_read_as_the_page_says(tmp_path: Path, need: Callable[..., None], model_file: Path) -> None:
    need("yosys", "grep")
    assert model_file.is_file()
    followed(DOCS / "tutorial_e1m2.md", tmp_path, 12, ("docs", "research"))


def test_no_tutorial_is_left_out() -> None:
    assert sorted(path.stem for path in DOCS.glob("tutorial_*.md")) == sorted(f"tutorial_{name}" for name in (*PAGES, *ELSEWHERE))


def test_a_page_that_says_something_else_is_noticed(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("```console\n$ echo 1; echo two\n1\n...\n$ echo 3\n4\n```\n")
    (told,) = differing(page, tmp_path)
    assert told.startswith("$ echo 3\nprinted:\n3\n")
