"""docs/tutorial_*.md: every command runs in its order and prints what the page says; a page that says something else is noticed."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from support.console import commands, differing, followed

from tools.docs.examples import TEXTS

DOCS = Path(__file__).resolve().parents[2] / "docs"
ELSEWHERE = ("rtl", "kernel", "e1m2")  # tests/rtl/test_rtl_tutorial.py, test_docs_tutorial_triton.py, below
# and how many commands they have at least
BY_THEIR_OWN = {  # page -> the test that runs its examples; tools.docs.examples.TEXTS names the others
    "datapath_levels": "docs/test_levels_page.py",
    "formal": "docs/test_docs_tutorials.py",
    "howto_check_attention": "check/attention/test_attention_page.py",
    "howto_check_matmul": "check/matmul/test_matmul_page.py",
    "howto_training": "nn/test_nn_howto.py",
    "riscv": "docs/test_docs_riscv.py",
}
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


@pytest.mark.exhaustive  # yosys unrolls a design
def test_the_proof_prints_what_the_page_says(tmp_path: Path, need: Callable[..., None]) -> None:
    need("yosys", "iverilog")
    (tmp_path / "vectors").symlink_to(DOCS.parent / "vectors")
    assert commands((DOCS / "formal.md").read_text(encoding="utf-8"))
    assert differing(DOCS / "formal.md", tmp_path) == []


def test_the_examples_of_every_page_are_run() -> None:
    shown = {f"docs/{path.name}" for path in DOCS.glob("*.md") if re.search(r"(?m)^```console|^>>> ", path.read_text(encoding="utf-8"))}
    tutorials = {f"docs/tutorial_{name}.md" for name in (*PAGES, *ELSEWHERE)}
    assert sorted(shown - {*TEXTS} - tutorials) == sorted(f"docs/{name}.md" for name in BY_THEIR_OWN)
    assert [
        name for name, test in BY_THEIR_OWN.items() if f"{name}.md" not in (DOCS.parent / "tests" / test).read_text(encoding="utf-8")
    ] == []


def test_no_tutorial_is_left_out() -> None:
    assert sorted(path.stem for path in DOCS.glob("tutorial_*.md")) == sorted(f"tutorial_{name}" for name in (*PAGES, *ELSEWHERE))


def test_a_page_that_says_something_else_is_noticed(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("```console\n$ echo 1; echo two\n1\n...\n$ echo 3\n4\n```\n")
    (told,) = differing(page, tmp_path)
    assert told.startswith("$ echo 3\nprinted:\n3\n")
