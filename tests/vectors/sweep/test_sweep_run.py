"""Sweeps over small parts of their spaces: a wrong engine is found at its first input, a kill loses nothing, digests depend on neither
jobs nor shards."""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from emu.base.errors import EngineError
from emu.vectors import sweep as sweeps
from emu.vectors.sweep import inputs, judge
from emu.vectors.sweep import runner as running
from emu.vectors.sweep.space import Sweep

CODES = range(0x3FFFFF00, 0x40C00100)  # 2 .. 6: four leaves and two ends
PLANNED = {one.name: one for one in sweeps.planned()}
E2M1 = PLANNED["fp32/e2m1/rne/saturate"]
RANDOM = PLANNED["bf16/e2m1/sr_ptx_split8/saturate"]
LISTED = {path.as_posix() for path in running.code_files()}
SPECIAL = PLANNED["special/bf16/e2m1/ml_dtypes"]


@pytest.fixture
def wrong(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Make an engine give another code for the inputs of one sweep that a test chooses."""
    real = judge.run_convert

    def make(engine: str, codes: set[int]) -> None:
        def convert(given: Any, source: Any, fmt: Any, rounding: Any, policy: Any, random: Any, name: str) -> Any:
            found = real(given, source, fmt, rounding, policy, random, name)
            if name == engine:
                found = np.where(np.isin(given, list(codes)), found ^ 1, found).astype(found.dtype)
            return found

        monkeypatch.setattr(judge, "run_convert", convert)

    return make


def digests(results: list[sweeps.Result]) -> list[tuple[str, int, str]]:
    return [(one.sweep.name, one.inputs, one.codes_sha256) for one in results]


def test_a_part_of_a_sweep() -> None:
    (found,) = sweeps.run([E2M1], codes=CODES)
    assert found.inputs == len(CODES)
    assert {"numpy", "c_ref"} <= set(found.engines)
    assert found.exact >= 4 * len(judge.NEAR)  # 2, 2.5, 3.5, 5 and more
    assert sweeps.is_partial(found)


def test_the_reference_model_joins_at_so_many_inputs() -> None:
    """Every code of a source of 16 bits; of a row of random operands the samples that are drawn for it; none twice."""
    leaf = judge.judge(PLANNED["bf16/e2m1/rne/saturate"], 0, ["c_ref"], range(0x3F80, 0x3F90))
    assert (leaf.inputs, leaf.exact, leaf.difference) == (16, 16, None)
    piece = next(inputs.pieces(RANDOM, 0))
    drawn = judge._row_samples(RANDOM, piece)
    assert drawn.size == np.unique(drawn).size == 16 and 0 <= drawn.min() <= drawn.max() < piece.codes.size
    asked = [10452, 14097, 16403, 16588, 16678, 18930, 25218, 47783, 48092, 48276, 48755, 49495, 50917, 54497, 60292, 64140]
    assert drawn.tolist() == asked  # the same in every version


@pytest.mark.parametrize("codes", [{0x40A00000}, {0x40A00001, 0x40200000, 0x40BFFFFF}])
@pytest.mark.parametrize("engine", ["native", "numpy", "c_ref"])
def test_a_wrong_engine_is_found_at_its_first_input(wrong: Any, engine: str, codes: set[int]) -> None:
    wrong(engine, codes)
    with pytest.raises(sweeps.Differs, match=rf"fp32/e2m1/rne/saturate .*first differing input {min(codes):#x}: .*exact 0x") as caught:
        sweeps.run([E2M1], codes=CODES)
    given = {word.split()[0]: word.split()[1] for word in str(caught.value).split(": ", 2)[2].split(", ")}
    assert given[engine] != given["exact"]
    assert all(code == given["exact"] for name, code in given.items() if name != engine)


def test_the_first_input_is_named_whatever_the_jobs(wrong: Any) -> None:
    wrong("c_ref", {0x40BFFFFF, 0x40400001})
    for jobs in (1, 3):
        with pytest.raises(sweeps.Differs, match="first differing input 0x40400001: "):
            sweeps.run([E2M1], codes=CODES, jobs=jobs, shard=1)


def test_the_reference_model_joins_where_all_engines_are_wrong_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    real = judge.run_convert

    def convert(codes: Any, *rest: Any) -> Any:
        return np.where(codes == 0x40A00000, 7, real(codes, *rest)).astype(np.uint8)  # the tie at 5 away from zero

    monkeypatch.setattr(judge, "run_convert", convert)
    with pytest.raises(sweeps.Differs, match=r"0x40a00000: .*exact 0x6"):
        sweeps.run([E2M1], codes=CODES)


def test_wrong_random_and_special_answers_are_found(wrong: Any) -> None:
    wrong("c_ref", {0x3FA0})
    with pytest.raises(sweeps.Differs, match=r"sr_ptx_split8.* input 0x3fa0 in row \d+ of random operands"):
        sweeps.run([RANDOM])
    wrong("numpy", {0xFFC1})
    with pytest.raises(sweeps.Differs, match=r"special/bf16/e2m1/ml_dtypes .*0xffc1: .*numpy 0x1, c_ref 0x0"):
        sweeps.run([SPECIAL])


def test_an_engine_that_answers_what_is_open_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    sweep = PLANNED["special/bf16/e2m1/ocp_saturate"]
    assert sweeps.run([sweep])[0].exact > 100
    real = judge.run_convert

    def convert(codes: Any, source: Any, fmt: Any, rounding: Any, policy: Any, random: Any, engine: str) -> Any:
        allowed = judge.substituted(sweep) if engine == "numpy" else policy
        return real(codes, source, fmt, rounding, allowed, random, engine)

    monkeypatch.setattr(judge, "run_convert", convert)
    with pytest.raises(sweeps.Differs, match="numpy 0x0, exact open"):
        sweeps.run([sweep])


@pytest.mark.exhaustive
def test_the_digest_depends_on_neither_jobs_nor_shards(monkeypatch: pytest.MonkeyPatch) -> None:
    chosen = [SPECIAL, E2M1, RANDOM]
    first = digests(sweeps.run(chosen, codes=CODES, jobs=2, shard=1))
    assert first == digests(sweeps.run(chosen, codes=CODES, shard=100))
    assert first[:2] == digests(sweeps.run(chosen[:2], codes=CODES, jobs=3, shard=2))
    monkeypatch.setattr(inputs, "PIECE", 999_999)
    assert first[:2] == digests(sweeps.run(chosen[:2], codes=CODES, engines=["c_ref"]))


def test_the_digest_tells_codes_apart() -> None:
    names = [
        "fp32/e2m1/rne/saturate",
        "fp32/e2m1/rna/saturate",
        "fp32/e2m1/rz/saturate",
        "fp32/e1m2/rne/saturate",
        "fp32/e3m0/rne/saturate",
    ]
    assert len({one.codes_sha256 for one in sweeps.run([PLANNED[name] for name in names], codes=CODES)}) == len(names)


def _killed(state: Path, after: int) -> None:
    """Run until some leaves are judged, then die as by SIGKILL."""
    real, left = running.judge, [after]

    def counted(*given: Any) -> Any:
        left[0] -= 1
        if left[0] < 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return real(*given)

    running.judge, running.SAVE_EVERY = counted, 1  # type: ignore[misc]
    running.run([SPECIAL, E2M1], state, codes=CODES, shard=1)


def test_a_killed_run_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    state = tmp_path / "state"
    whole = digests(sweeps.run([SPECIAL, E2M1], codes=CODES))
    process = multiprocessing.get_context("fork").Process(target=_killed, args=(state, 8))  # 6 roundings and 2 leaves
    process.start()
    process.join()
    assert process.exitcode == -signal.SIGKILL
    judged: list[tuple[str, int]] = []
    real = running.judge

    def counted(sweep: Sweep, leaf: int, *rest: Any) -> Any:
        judged.append((sweep.name, leaf))
        return real(sweep, leaf, *rest)

    monkeypatch.setattr(running, "judge", counted)
    rest = digests(sweeps.run([SPECIAL, E2M1], state, codes=CODES))
    assert rest == whole[1:]  # the first was finished before
    assert judged[0] == (E2M1.name, 2)
    assert not state.exists()


def _killed_with_workers(folder: Path) -> None:
    """Run on two processes that leave their ids, and die when both are there."""
    real = running.judge

    def noted(*given: Any) -> Any:
        (folder / str(os.getpid())).touch()
        return real(*given)

    def die(name: str, done: int, total: int) -> None:
        if len(list(folder.iterdir())) == 2:
            os.kill(os.getpid(), signal.SIGKILL)

    running.judge = noted  # type: ignore[misc]
    running.run([RANDOM, E2M1], codes=range(1 << 26), jobs=2, shard=1, progress=die)


def _is_alive(number: int) -> bool:
    """Tell whether a process runs; one that has ended and that nobody has asked for yet does not."""
    try:
        return Path(f"/proc/{number}/stat").read_text(encoding="ascii").rpartition(")")[2].split()[0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False


def _killed_build(folder: Path) -> None:
    """Build suites on two processes that leave their ids and would go on, and die when both are there."""

    def endless(*_given: Any) -> str:
        (folder / str(os.getpid())).touch()
        time.sleep(600)
        return ""

    def die() -> None:
        while len([path for path in folder.iterdir() if path.name.isdigit()]) < 2:
            time.sleep(0.05)
        os.kill(os.getpid(), signal.SIGKILL)

    building = import_module("emu.vectors.build")  # the package's name of it is the function
    building._one = endless
    threading.Thread(target=die, daemon=True).start()
    building.build(folder / "out", ["smoke"], ["convert/e2m1/rne/nvidia", "convert/e1m2/rz/ocp_saturate"], jobs=2)


@pytest.mark.skipif(not Path("/proc/self/stat").is_file(), reason="this system has no /proc to look for processes in")
@pytest.mark.parametrize("killed", [_killed_with_workers, _killed_build], ids=["sweep", "build"])
def test_workers_of_a_killed_run_end(tmp_path: Path, killed: Any) -> None:
    process = multiprocessing.get_context("fork").Process(target=killed, args=(tmp_path,))
    process.start()
    process.join()
    assert process.exitcode == -signal.SIGKILL
    workers = [int(path.name) for path in tmp_path.iterdir() if path.name.isdigit()]
    assert len(workers) == 2
    for _ in range(600):
        if not any(_is_alive(number) for number in workers):
            return
        time.sleep(0.1)
    pytest.fail(f"workers {workers} outlive their run")


def test_a_state_of_other_work_is_not_used(tmp_path: Path) -> None:
    state = tmp_path / "state"
    wanted = digests(sweeps.run([E2M1], codes=CODES))
    other = {"finished": {E2M1.name: "x"}, "leaves": {E2M1.name: ["x", [["00", 5, 5]]]}}
    leaves = (7, ["x"], ["x", [["zz", 5, 5]]], ["x", [["00", {}, 5]]])
    torn = [json.dumps({"finished": {}, "leaves": {E2M1.name: some}}) for some in leaves]
    for text in ("no json", "[]", "[" * 100_000, '{"finished": {}}', json.dumps(other), json.dumps(other | {"finished": []}), *torn):
        state.write_text(text)
        assert digests(sweeps.run([E2M1], state, codes=CODES)) == wanted


def test_an_interrupt_keeps_what_is_done(tmp_path: Path) -> None:
    state = tmp_path / "state"

    def stop(name: str, done: int, total: int) -> None:
        if done > total // 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        sweeps.run([E2M1], state, codes=CODES, shard=1, progress=stop)
    assert state.exists()
    kept = json.loads(state.read_text(encoding="ascii"))["leaves"][E2M1.name][1]
    assert 2 <= len(kept) < 5
    assert digests(sweeps.run([SPECIAL, E2M1], state, codes=CODES)) == digests(sweeps.run([SPECIAL, E2M1], codes=CODES))


def test_unknown_engines_are_refused() -> None:
    with pytest.raises(EngineError, match="none of the engines fst can"):
        sweeps.run([E2M1], engines=["fst"])


@pytest.mark.cases(2)
@pytest.mark.parametrize("engine", running.ENGINES)
def test_the_digest_of_the_code_covers_what_a_conversion_loads(engine: str) -> None:
    ask = f"import sys, emu.engines.{engine}.convert; print(*(n for n in sys.modules if n.startswith('emu.engines.{engine}.')))"
    loaded = subprocess.run([sys.executable, "-c", ask], capture_output=True, text=True, check=True).stdout.split()
    compiled = {name for name in loaded if "._" in name}  # the extensions: their sources count
    assert {f"{name.removeprefix('emu.').replace('.', '/')}.py" for name in loaded if name not in compiled} <= LISTED
    assert f"engines/{engine}/convert.py" in LISTED


def test_the_digest_of_the_code_leaves_other_operations_out() -> None:
    assert {"engines/native/kernels/convert.c", "engines/numpy/odd.py"} <= LISTED
    assert not [path for path in LISTED if "datapath" in path or path.startswith("engines/torch")]
