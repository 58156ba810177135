"""Research on workers of a cluster: the files and the record of one process, and a worker that would give other bits is refused."""

import importlib
import json
import os
from pathlib import Path

import pytest
from support.cluster import need_cluster

from emu.base.errors import ToolError
from emu.files.record import Record, opens
from research import on_cluster
from research.models.kept import Data, Kept, Lines

torch = pytest.importorskip("torch", reason="no torch here") if not os.environ.get("EMU_NEED_TORCH") else importlib.import_module("torch")
pytestmark = pytest.mark.exhaustive
KIND = Record("record of a test", "make it again", opens("lines"), ("made_with", "lines"))
STAGES = [[(f"cell{number}", number) for number in (5, 3, 9)], [("sum", 0)]]


@pytest.fixture(autouse=True)
def library() -> None:
    """distributed, or a skip with the reason."""
    need_cluster()


def measured(cell: int, lines: Lines) -> Data:
    """Square a number; where there are lines, their sum."""
    return {"value": sum(line["value"] for line in lines.values()) or cell * cell}


def new(made_with: dict[str, str]) -> Data:
    return {"made_with": made_with, "lines": {}}


def test_cells_on_workers_are_those_of_one_process(tmp_path: Path) -> None:
    for name, cluster in (("one", None), ("many", "local:2")):
        kept = Kept(KIND, tmp_path / name, "", new, lambda _: [])
        assert list(kept.run(measured, STAGES, lambda: True, cluster)) == ["cell5", "cell3", "cell9", "sum"]
    assert (tmp_path / "one").read_bytes() == (tmp_path / "many").read_bytes()
    assert json.loads((tmp_path / "one").read_text("utf-8"))["lines"]["sum"] == {"value": 25 + 9 + 81}


def test_what_is_kept_is_not_measured_again_and_nothing_begins_after_the_end(tmp_path: Path) -> None:
    kept, left = Kept(KIND, tmp_path / "one", "", new, lambda _: []), [True, True, False]
    assert list(kept.run(measured, STAGES[:1], lambda: left.pop(0), None)) == ["cell5", "cell3"]
    assert list(kept.run(measured, STAGES, lambda: True, None)) == ["cell9", "sum"]


def test_a_worker_that_would_give_other_bits_is_refused() -> None:
    here = on_cluster.single()
    assert on_cluster.run(on_cluster.Task(measured, (3, {}), here)) == {"value": 9}
    with pytest.raises(ToolError, match=r"cluster: a worker has .*, the command .*: the same torch .*MKL_CBWR=AVX2,STRICT"):
        on_cluster.run(on_cluster.Task(measured, (3, {}), here | {"torch": "1.0"}))


def test_a_task_hands_back_the_files_that_are_new(tmp_path: Path) -> None:
    def made(folder: Path, name: str) -> None:
        (folder / "new").mkdir()
        (folder / "new" / name).write_bytes((folder / "given").read_bytes() * 2)

    assert on_cluster.with_files(made, {"given": b"ab"}, "twice") == {"new/twice": b"abab"}
