"""Runs go on with the same bits after a kill, refuse what another configuration made, and say what is wrong in a line."""

import importlib
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from support.cluster import need_cluster

from emu.base.errors import FileError, OperandError
from research import on_cluster
from research.__main__ import run
from research.train import plan
from research.train.config import load
from research.train.plan import runs_of

torch = importlib.import_module("torch") if os.environ.get("EMU_NEED_TORCH") else pytest.importorskip("torch", reason="no torch here")
# torch is loaded first, as it is here: nothing is pinned after that, so both processes run the same code paths
CODE = f"import torch; import sys; sys.path.append({str(Path(__file__).parents[3])!r}); from research.__main__ import run; sys.exit(run())"
RESEARCH = [sys.executable, "-P", "-c", CODE]
PATIENCE = 120  # seconds until a subprocess that does not get on is given up


def train(arguments, out):
    assert run(["train", *arguments, "--out", str(out), "--quiet"]) == 0


def files(out):
    return {path.relative_to(out).as_posix(): path for path in sorted(out.rglob("*")) if path.is_file()}


def killed(arguments, out):
    """Start a run and kill it -9 as soon as it has a checkpoint; return the file."""
    child = subprocess.Popen([*RESEARCH, "train", *arguments, "--out", str(out)], stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    limit = time.monotonic() + PATIENCE
    try:
        while not (found := list(out.rglob("checkpoint.safetensors"))):
            assert child.poll() is None, "the run ended before it had a checkpoint"
            assert time.monotonic() < limit
            time.sleep(0.002)
    finally:
        child.send_signal(signal.SIGKILL)
        child.wait()
    return found[0]


def test_a_killed_run_goes_on_with_the_same_bits(tmp_path, decoder):
    arguments = ["--config", str(decoder), "--only", "experts", "--only", "ufp4"]
    straight, broken = tmp_path / "straight", tmp_path / "broken"
    train(arguments, straight)
    checkpoint = killed(arguments, broken)
    assert not list(broken.rglob("result.json"))
    assert checkpoint.is_file()
    train(arguments, broken)
    assert not checkpoint.exists()
    one, two = files(straight), files(broken)
    assert list(one) == list(two)
    assert len(one) == 2
    for name, path in one.items():
        if name.endswith(".safetensors"):
            assert path.read_bytes() == two[name].read_bytes()
        else:
            first, second = (json.loads(item.read_text("utf-8")) for item in (path, two[name]))
            assert {**first, "seconds": 0} == {**second, "seconds": 0}
            assert len(first["curve"]) == 24


def stopped(path, out, step, monkeypatch, only=("loud", "ufp4")):
    """Run until an error at a step, as a kill leaves it."""
    from research.train import loop

    real = loop._step

    def fails(run, experiment, optimizer, at, captured):
        if at == step:
            raise KeyboardInterrupt
        return real(run, experiment, optimizer, at, captured)

    monkeypatch.setattr(loop, "_step", fails)
    words = [word for name in only for word in ("--only", name)]
    assert run(["train", "--config", str(path), *words, "--seeds", "0", "--out", str(out), "--quiet"]) == 130
    monkeypatch.setattr(loop, "_step", real)
    return ["train", "--config", str(path), *words, "--seeds", "0", "--out", str(out), "--quiet"]


@pytest.mark.parametrize("step", [2, 3, 11])
def test_every_place_to_stop_gives_the_same_weights(tmp_path, student, monkeypatch, step):
    again = stopped(student, tmp_path / "broken", step, monkeypatch, ("loud", "ufp4_sr_all"))
    assert run(again) == 0
    train(["--config", str(student), "--only", "ufp4_sr_all", "--seeds", "0"], tmp_path / "straight")
    bits = [json.loads(next((tmp_path / name).rglob("result.json")).read_text("utf-8"))["bits"] for name in ("broken", "straight")]
    assert bits[0] == bits[1]


def test_another_configuration_is_refused_in_one_line(tmp_path, student, monkeypatch, capsys):
    again = stopped(student, tmp_path / "out", 5, monkeypatch)
    student.write_text(student.read_text("utf-8").replace('"0.001"', '"0.002"'), encoding="utf-8")
    capsys.readouterr()
    assert run(again) == 2
    error = capsys.readouterr().err
    assert re.fullmatch(
        r"emu: \S+checkpoint\.safetensors: config\.optimizer\.lr was 0\.001, is 0\.002: go on with what made it, or give another --out, "
        r"or delete the folder \S+\n", error
    )  # fmt: skip


@pytest.mark.parametrize("finished", [False, True])
def test_another_spec_is_refused(tmp_path, student, monkeypatch, capsys, finished):
    again = stopped(student, tmp_path / "out", 5, monkeypatch)
    if finished:
        assert run(again) == 0
    monkeypatch.setattr(plan, "training_digest", lambda name: "f" * 64)
    capsys.readouterr()
    assert run(again) == 2
    error = capsys.readouterr().err
    assert re.search(r"(checkpoint\.safetensors|result\.json): training_digest was [0-9a-f]{16}, is f{16}: go on with what made it", error)
    assert error.count("\n") == 1


def test_other_threads_are_another_run(tmp_path, student, monkeypatch, capsys):
    again = stopped(student, tmp_path / "out", 5, monkeypatch)
    capsys.readouterr()
    try:
        assert run([*again, "--threads", "2"]) == 2
    finally:
        torch.set_num_threads(1)
    assert "threads was 1, is 2" in capsys.readouterr().err


def test_a_damaged_checkpoint_says_what_to_do(tmp_path, student, monkeypatch, capsys):
    again = stopped(student, tmp_path / "out", 5, monkeypatch)
    path = next((tmp_path / "out").rglob("checkpoint.safetensors"))
    path.write_bytes(path.read_bytes()[:-8])
    capsys.readouterr()
    assert run(again) == 2
    assert "no checkpoint of a training run" in capsys.readouterr().err


def test_a_finished_run_is_not_run_again(tmp_path, student, monkeypatch):
    from research.train import loop

    train(["--config", str(student), "--only", "bf16", "--seeds", "0"], tmp_path / "out")
    monkeypatch.setattr(loop, "_step", lambda *_: pytest.fail("it ran again"))
    train(["--config", str(student), "--only", "bf16", "--seeds", "0"], tmp_path / "out")


def test_a_loss_that_is_no_number_is_one_line(tmp_path, student):
    from research.train.run import run_all

    student.write_text(student.read_text("utf-8").replace('"0.001"', '"1000000000000000000000000000000"'), encoding="utf-8")
    (one,) = runs_of(load(student), ["bf16"], [0])

    class Silent:
        def started(self, run): ...
        def step(self, step, loss): ...
        def finished(self, run, result, trained): ...

    with pytest.raises(
        OperandError, match=r"loss of step [12] is (nan|inf): lower optimizer.lr of tiny_student|NaN or Inf in the gradient"
    ):
        run_all([one], tmp_path, (), 1, Silent(), print)


def test_capture_needs_a_run_that_is_not_finished(tmp_path, student):
    train(["--config", str(student), "--only", "bf16", "--seeds", "0"], tmp_path)
    with pytest.raises(FileError, match="the run is finished and kept nothing of step 3: give --capture with another --out"):
        captured(tmp_path, student)


def captured(out, path):
    from research.train.loop import train as train_one
    from research.train.student_teacher import StudentTeacherRun

    (one,) = runs_of(load(path), ["bf16"], [0])
    train_one(one, Path(out), StudentTeacherRun, captures=(3,))
    return one


@pytest.mark.exhaustive  # workers in processes of their own
def test_workers_of_a_cluster_make_the_same_files(tmp_path, student, monkeypatch):
    need_cluster()
    one, many = tmp_path / "one", tmp_path / "many"
    words = ["train", "--config", str(student), "--quiet", "--out"]
    assert run([*words, str(one)]) == 0
    again = stopped(student, many, 5, monkeypatch)  # one run has a checkpoint: a worker goes on from it
    assert run([*again, "--cluster", "local:2"]) == run([*words, str(many), "--cluster", "local:2"]) == 0

    def timeless(folder):
        found = on_cluster.read(folder)
        return found | {name: json.loads(data) | {"seconds": 0} for name, data in found.items() if name.endswith(".json")}

    assert timeless(one) == timeless(many) and len(timeless(one)) == 6 * 2
