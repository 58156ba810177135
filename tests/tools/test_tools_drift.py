"""Drift of every kind is seen, named and mended: a fact of the spec, a line of the reference model, an example of the README."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import emu
from emu.spec import get, names
from tools.docs import examples, tree
from tools.docs.__main__ import main

CLONE = Path(__file__).resolve().parents[2]


def replace(path: Path, old: str, new: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert text.count(old) == 1, f"{path}: {old!r} stands {text.count(old)} times"
    path.write_text(text.replace(old, new), encoding="utf-8")


def docs(word: str, root: Path, python_path: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Run the command from the clone; python_path: a folder that stands first on the path."""
    environment = os.environ | ({"PYTHONPATH": str(python_path)} if python_path else {})
    words = [sys.executable, "-m", "tools.docs", word, "--root", str(root)]
    return subprocess.run(words, capture_output=True, text=True, env=environment, cwd=CLONE)


def reaches(kind: str, name: str, other: tuple[str, str]) -> bool:
    """Return True for an object that names the other, or names what reaches it."""
    return any(item[:2] == other or reaches(*item[:2], other) for item in get(kind, name).references())


def differing(text: str) -> set[str]:
    return {line.removeprefix("--- ") for line in text.splitlines() if line.startswith("--- ")}


@pytest.mark.cases(0, 0)  # every page is made again, twice
def test_a_changed_fact_names_its_pages_and_the_command_mends_them(copy: Path) -> None:
    replace(copy / "spec/rounding/rna.yaml", ', half: "next"', ', half: "keep"')
    result = docs("check", copy)
    assert (result.returncode, result.stderr) == (1, "")
    pages = [(kind, name) for kind in ("checkpoint", "instruction", "recipe") for name in names(kind)]
    named = {
        f"docs/reference/{kind}/{name}.md" for kind, name in pages if reaches(kind, name, ("rounding", "rna"))
    }  # their digest covers it
    assert named and differing(result.stdout) == {"docs/reference/rounding/rna.md", "c_ref/src/tables/tables.c"} | named
    assert "-| any | lower | lower | upper | upper |" in result.stdout and "+| any | lower | lower | lower | upper |" in result.stdout
    assert result.stdout.splitlines()[-1] == f"to mend it: {tree.COMMAND}"
    assert docs("build", copy).returncode == 0
    assert docs("check", copy).returncode == 0


@pytest.mark.cases(0, 0)  # every page is made again
def test_a_changed_line_of_the_reference_model_names_its_page_and_that_another_one_runs(copy: Path) -> None:
    replace(copy / "emu/engines/exact/overflow.py", "magnitude <= largest", "magnitude < largest")
    page, running = tree.check(copy)
    assert differing(page) == {"docs/reference/reference_model/overflow.md"}
    assert '+    if magnitude != "inf" and (magnitude < largest' in page
    assert running == "emu/engines/exact/overflow.py: not the reference model that runs: install the tree again (pip install -e .)"
    assert main(["build", "--root", str(copy)]) == 2
    assert tree.check(copy) == [page, running]


@pytest.mark.cases(0, 0)  # every page is made again, in processes of their own
def test_a_changed_reference_model_that_runs_changes_what_it_computed(copy: Path) -> None:
    """The tree with its own package first on the path: source pages and worked rows differ, and the command mends both."""
    ignore = shutil.ignore_patterns("__pycache__")
    shutil.copytree(Path(emu.__file__).parent, copy / "emu", ignore=ignore, dirs_exist_ok=True)
    replace(copy / "emu/engines/exact/round.py", "return random < scaled", "return random <= scaled")
    result = docs("check", copy, copy)
    assert (result.returncode, result.stderr) == (1, "")
    assert differing(result.stdout) == {"docs/reference/reference_model/round.md", "docs/reference/rounding/sr_cmp8.md"}
    assert docs("build", copy, copy).returncode == 0
    assert docs("check", copy, copy).stdout.splitlines()[-1] == "generated files and examples are up to date"


@pytest.mark.cases(0, 0)  # every page is made again, in processes of their own
def test_a_changed_example_is_told_and_never_rewritten(checkout: Path, copy: Path) -> None:
    readme = Path(shutil.copy(checkout / "README.md", copy))
    lines = readme.read_text(encoding="utf-8").splitlines()
    (number,) = [number for number, line in enumerate(lines, 1) if line.startswith('>>> emu.convert(x, "e2m1")')]
    replace(readme, "array([0, 1, 6, 7, 8, 7], dtype=uint8)", "array([0, 1, 6, 7, 8, 6], dtype=uint8)")
    replace(readme, "0x3E800000   0.25  0x0         0", "0x3E800000   0.25  0x1         0")
    before = readme.read_bytes()
    result = docs("check", copy)
    python, console = result.stdout.split("README.md:")[1:]
    assert result.returncode == 1
    assert python.startswith(f"{number}: an example prints something else; edit the text by hand")
    said, printed = python.split("  it should say:\n")
    assert "array([0, 1, 6, 7, 8, 6], dtype=uint8)" in said and printed.strip() == "array([0, 1, 6, 7, 8, 7], dtype=uint8)"
    assert "    emu convert e2m1 5 0.25 1e9 nan" in console and "0x3E800000   0.25  0x0 " in console.split("  it should say:\n")[1]
    built = docs("build", copy)
    assert (built.returncode, built.stdout) == (1, "") and built.stderr.count("edit the text by hand") == 2
    assert readme.read_bytes() == before


@pytest.mark.exhaustive
def test_examples_that_cannot_be_checked_are_faults(tmp_path: Path) -> None:
    assert examples.faults(tmp_path, ("README.md",)) == ["README.md: missing, or no text: its examples are checked"]
    readme = tmp_path / "README.md"
    readme.write_text("words\n", encoding="utf-8")
    assert examples.faults(tmp_path, ("README.md",)) == ["README.md: no example in it: a block python or console was expected"]
    readme.write_text("```console\n$ ls\n```\n```console\nlost\n$ emu show nothing\n```\n```python\n>>> 1 / 0\n```\n", encoding="utf-8")
    raised, foreign, lost, failed = examples.faults(tmp_path, ("README.md",))
    assert raised.startswith("README.md:9:") and "ZeroDivisionError: division by zero" in raised
    assert foreign.startswith("README.md:2:") and "(only commands of emu are run here)" in foreign
    assert lost == "README.md:5: text before the first command: a console block starts with `$ emu`"
    assert failed.startswith("README.md:6:") and "(exit code 2) emu: 'nothing' is unknown" in failed
