"""emu quantize --jobs: the same bytes and the same refusals at any number of threads."""

import itertools
import threading
import time

import ml_dtypes
import numpy as np
import pytest
from safetensors.numpy import save_file

from emu.base.errors import OperandError
from emu.base.workers import in_order_by_threads
from emu.cli import quantize as command
from emu.cli.main import run

RNG = np.random.default_rng(3)
KINDS = (np.float32, ml_dtypes.bfloat16, np.float16)
MODEL = {f"layers.{i}.{'up' if i % 2 else 'down'}.weight": RNG.standard_normal((8 + i, 64)).astype(KINDS[i % 3]) for i in range(9)}
MIXED = ("--recipe-for", "*.up.*=mxfp4_torchao_floor", "--recipe-for", "*.6.*=ufp4_sr", "--random-key", "5", "--signs", "0xD7E8")


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    save_file(MODEL, tmp_path / "m.safetensors")
    np.savez(tmp_path / "m.npz", **{name: array for name, array in MODEL.items() if array.dtype != ml_dtypes.bfloat16})
    return tmp_path


@pytest.mark.parametrize("words", [("-r", "nvfp4_modelopt", *MIXED), ("-r", "ufp4_sr", "--random-key", "1"), ("-r", "hif4"),
                                   ("-r", "nvfp4_te_2d_ref", "--engine", "numpy")])  # fmt: skip
@pytest.mark.parametrize("source", ["m.safetensors", "m.npz"])
def test_the_bytes_are_the_same_at_any_number_of_jobs(here, monkeypatch, source, words):
    assert run(["quantize", source, *words, "-q", "-o", "one.safetensors"]) == 0
    real, calls, three = command.quantize, itertools.count(), threading.Barrier(3)

    def met(*args, **operands):
        """Quantize; the first three tensors wait for each other."""
        if next(calls) < 3:
            three.wait(60)
        return real(*args, **operands)

    monkeypatch.setattr(command, "quantize", met)
    assert run(["quantize", source, *words, "-q", "-o", "three.safetensors", "--jobs", "3"]) == 0
    assert (here / "three.safetensors").read_bytes() == (here / "one.safetensors").read_bytes()


@pytest.mark.parametrize("jobs", ["1", "2", "7"])
def test_the_first_tensor_that_fails_is_one_line_and_nothing_is_left(here, monkeypatch, capsys, jobs):
    real = command.quantize

    def some(array, *args, **operands):
        if len(array) in (12, 14):
            raise OperandError(f"no tensor of {len(array)} rows")
        return real(array, *args, **operands)

    monkeypatch.setattr(command, "quantize", some)
    assert run(["quantize", "m.safetensors", "-r", "nvfp4_modelopt", "-q", "-o", "q.safetensors", "-j", jobs]) == 2
    said = capsys.readouterr()
    assert (said.out, said.err) == ("", "emu: m.safetensors: tensor layers.4.down.weight: no tensor of 12 rows\n")
    assert sorted(path.name for path in here.iterdir()) == ["m.npz", "m.safetensors"]


@pytest.mark.parametrize("jobs", ["0", "257", "x"])
def test_a_bad_number_of_jobs_is_one_line(here, capsys, jobs):
    assert run(["quantize", "m.safetensors", "-r", "hif4", "-j", jobs]) == 2
    assert capsys.readouterr().err.count("\n") == 1
    assert sorted(path.name for path in here.iterdir()) == ["m.npz", "m.safetensors"]


@pytest.mark.parametrize("jobs", [1, 2, 5])
def test_results_come_in_order_and_few_are_held(jobs):
    lock, begun, most, taken = threading.Lock(), 0, 0, 0

    def task(number):
        nonlocal begun, most
        with lock:
            begun += 1
            most = max(most, begun - taken)
        time.sleep(0.002 * (number % 3))  # so that later ones end first
        return number * number

    found = []
    for result in in_order_by_threads(task, range(20), jobs):
        with lock:
            taken += 1
        found.append(result)
    assert found == [number * number for number in range(20)]
    assert most <= jobs


@pytest.mark.parametrize("jobs", [1, 2, 5])
def test_the_first_task_that_fails_is_told_after_the_results_before_it(jobs):
    begun = []

    def task(number):
        begun.append(number)
        if number >= 4:
            raise ValueError(f"task {number}")
        return number

    found = []
    results = in_order_by_threads(task, range(100), jobs)
    with pytest.raises(ValueError, match="task 4"):
        found.extend(results)
    assert found == [0, 1, 2, 3]
    assert len(begun) < 4 + 2 * jobs
