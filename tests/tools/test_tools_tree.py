"""Generated files of the checkout are fresh; `python -m tools.docs check` says what differs, and the command it prints mends it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from emu.base.errors import FileError, SpecError
from tools.docs import tree
from tools.docs.__main__ import main


@pytest.mark.cases(0, 0)  # every page is made again
def test_generated_files_are_fresh(checkout: Path) -> None:
    found = tree.check(checkout)
    assert found == [], "\n".join([*found, f"to mend it: {tree.COMMAND}"])


@pytest.mark.cases(0, 0)  # every page is made again
def test_a_fresh_copy_is_left_alone(copy: Path) -> None:
    before = {path: path.stat().st_mtime_ns for path in copy.rglob("*")}
    assert tree.check(copy) == [] and tree.build(copy) == []
    assert {path: path.stat().st_mtime_ns for path in copy.rglob("*")} == before


@pytest.mark.cases(0, 0)  # every page is made again
def test_the_printed_command_mends_every_kind_of_fault(checkout: Path, copy: Path) -> None:
    edited, missing = copy / "docs/reference/contents.md", copy / "spec/schema/block.schema.json"
    stale, foreign = copy / "docs/reference/old.md", copy / "docs/reference/mine.md"
    edited.write_text(edited.read_text(encoding="utf-8").replace("Contents of the spec", "Contents"), encoding="utf-8")
    missing.unlink()
    stale.write_text(f"{tree.MARK}\n\nan older page\n", encoding="utf-8")
    foreign.write_text("by hand\n", encoding="utf-8")
    words = [sys.executable, "-m", "tools.docs", "check"]
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}", "PYTHONPATH": str(checkout)}
    result = subprocess.run(words, cwd=copy, capture_output=True, text=True, env=environment)
    assert (result.returncode, result.stderr) == (1, "")
    *faults, last = result.stdout.splitlines()
    assert "-# Contents" in faults and "+# Contents of the spec" in faults
    assert "spec/schema/block.schema.json: missing" in faults and "docs/reference/old.md: no longer generated" in faults
    command = last.removeprefix("to mend it: ")
    assert command == "python -m tools.docs build"
    mended = subprocess.run(command, shell=True, cwd=copy, capture_output=True, text=True, env=environment)
    assert mended.returncode == 0
    assert mended.stdout.split() == ["docs/reference/contents.md", "docs/reference/old.md", "spec/schema/block.schema.json"]
    assert subprocess.run(words, cwd=copy, capture_output=True, text=True, env=environment).returncode == 0
    assert foreign.read_text(encoding="utf-8") == "by hand\n" and not stale.exists()


@pytest.mark.cases(0, 0)  # every page is made again
def test_the_pages_follow_the_spec_of_the_tree(copy: Path) -> None:
    """Not the installed spec: a new file has a page, and stands where formats are listed or compared."""
    text = (copy / "spec/format/e2m1.yaml").read_text(encoding="utf-8")
    new = text.replace('id: "e2m1"', 'id: "e2m1_bias2"').replace("bias: 1", "bias: 2").split("expect:")[0]
    aliases = next(line for line in new.splitlines() if line.startswith("aliases"))
    (copy / "spec/format/e2m1_bias2.yaml").write_text(new.replace(aliases + "\n", "") + "sources: []\n", encoding="utf-8")
    found = tree.check(copy)
    assert "docs/reference/format/e2m1_bias2.md: missing" in found
    for page, start in (("contents", "+| [`e2m1_bias2`]"), ("policies", "+## e2m1_bias2"), ("grids", "+| [`e2m1_bias2`]")):
        (difference,) = [text for text in found if text.startswith(f"--- docs/reference/{page}.md")]
        assert [line for line in difference.splitlines() if line.startswith(start)] != []
    (table,) = [text for text in found if text.startswith("--- c_ref/src/tables/tables.c")]
    assert [line for line in table.splitlines() if line.startswith("+static const emu_format format_e2m1_bias2 ")] != []
    built = tree.build(copy)
    assert "docs/reference/format/e2m1_bias2.md" in built and len(built) == len(found) and tree.check(copy) == []


@pytest.mark.cases(0, 0)  # every page is made again
def test_a_long_difference_is_cut(copy: Path) -> None:
    page = copy / "docs/reference/spec.md"
    page.write_text("", encoding="utf-8")
    (fault,) = tree.check(copy)
    lines = fault.splitlines()
    assert len(lines) == tree.DIFF_LINES + 1 and lines[-1].startswith("... ") and lines[-1].endswith(" more lines")


def test_misuse(tmp_path: Path, copy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    with pytest.raises(FileError, match="no spec/ here: run in the source tree, or say --root DIR"):
        tree.check(empty)
    assert main(["check", "--root", str(empty)]) == 2
    assert capsys.readouterr().err.startswith("emu: ")
    (copy / "spec/format/e2m1.yaml").write_text("kind: no\n", encoding="utf-8")
    with pytest.raises(SpecError, match=r"e2m1\.yaml:1: bare no is ambiguous"):
        tree.build(copy)
    assert main(["build", "--root", str(copy)]) == 2


@pytest.mark.cases(0, 0)  # every page is made four times
def test_commands_answer_in_json(checkout: Path, copy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "--json", "--root", str(checkout)]) == 0
    assert capsys.readouterr().out == "[]\n"
    (copy / "docs/reference/spec.md").unlink()
    assert main(["check", "--json", "--root", str(copy)]) == 1
    assert capsys.readouterr().out == '[\n  "docs/reference/spec.md: missing"\n]\n'
    assert main(["build", "--json", "--root", str(copy)]) == 0
    assert capsys.readouterr().out == '[\n  "docs/reference/spec.md"\n]\n'
