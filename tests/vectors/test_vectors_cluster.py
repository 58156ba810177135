"""Sweeps, builds and files of tensors on a real Dask scheduler and workers, killed and started again: the bytes of one process.

EMU_NEED_CLUSTER: fail where the library is absent.
"""

import math
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save_file
from support.cluster import need_cluster

import emu.checkpoint.read
from emu.base import cluster
from emu.base.cluster import done_by_cluster
from emu.base.errors import SpecError, ToolError
from emu.base.philox import words
from emu.checkpoint import convert, requantize, writing
from emu.checkpoint.read import StoredRows
from emu.cli.main import run
from emu.files import StoredWriter
from emu.spec import carried as carrying
from emu.spec.carried import results
from emu.spec.registry import get, load_spec, restored, shipped_root
from emu.vectors import build
from emu.vectors import sweep as sweeps

# the library closes the sockets of a scheduler that was killed when they are collected, in whichever test that is
pytestmark = [pytest.mark.exhaustive, pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")]
CODES = range(0x3FFFFF00, 0x40C00100)
SWEEP = next(one for one in sweeps.planned() if one.name == "fp32/e2m1/rne/saturate")
CONTRACT, OWN, SUITES = "convert/e2m1/rne/nvidia", "convert/e2m1_nan/rne/nvidia", ("smoke",)


@pytest.fixture(autouse=True)
def library() -> None:
    """distributed, or a skip with the reason."""
    need_cluster()


class Cluster:
    """A scheduler and workers in processes of their own, on loopback."""

    def __init__(self, folder: Path, environment: dict[str, str] | None = None) -> None:
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        self.folder, self.address, self.environment = folder, f"tcp://127.0.0.1:{self.port}", os.environ | (environment or {})
        self.scheduler: subprocess.Popen[bytes] | None = None
        self.workers: list[subprocess.Popen[bytes]] = []

    def _start(self, program: str, *words: str) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", f"distributed.cli.{program}", "--host", "127.0.0.1", "--no-dashboard", *words]
        with (self.folder / f"{program}.log").open("ab") as log:
            return subprocess.Popen(command, cwd=self.folder, stdout=log, stderr=log, env=self.environment)

    def start(self, workers: int = 1) -> None:
        """Start what is not there."""
        if self.scheduler is None:
            self.scheduler = self._start("dask_scheduler", "--port", str(self.port))
            while self.scheduler.poll() is None and not self._listens():
                time.sleep(0.05)
        for _ in range(workers):
            self.workers.append(
                self._start("dask_worker", self.address, "--no-nanny", "--nthreads", "1", "--local-directory", str(self.folder))
            )

    def _listens(self) -> bool:
        try:
            socket.create_connection(("127.0.0.1", self.port)).close()
        except ConnectionRefusedError:
            return False
        return True

    def kill(self, *, scheduler: bool = False, workers: int) -> None:
        """End processes as a power cut does."""
        doomed, self.workers = self.workers[:workers], self.workers[workers:]
        if scheduler and self.scheduler is not None:
            doomed, self.scheduler = [*doomed, self.scheduler], None
        for process in doomed:
            process.send_signal(signal.SIGKILL)
            process.wait()


@pytest.fixture
def dask(tmp_path: Path) -> Iterator[Cluster]:
    """A scheduler with two workers."""
    made = Cluster(tmp_path)
    made.start(2)
    yield made
    made.kill(scheduler=True, workers=len(made.workers))


def _digests(disturb: Callable[[], None] | None = None, **where: object) -> list[tuple[str, int, str]]:
    """Run a part of a sweep, a leaf a task. disturb: called once, after the first task."""
    calls = [disturb] if disturb else []

    def progress(*_: object) -> None:
        if calls:
            calls.pop()()

    found = sweeps.run([SWEEP], codes=CODES, shard=1, progress=progress, **where)  # type: ignore[arg-type]
    assert not calls
    return [(one.sweep.name, one.inputs, one.codes_sha256) for one in found]


def test_killed_workers_and_a_scheduler_that_starts_again(dask: Cluster) -> None:
    wanted = _digests()
    assert _digests(cluster=dask.address) == wanted

    def lose_a_worker() -> None:
        dask.kill(workers=1)

    assert _digests(lose_a_worker, cluster=dask.address) == wanted

    def lose_all() -> None:
        dask.kill(scheduler=True, workers=1)
        dask.start(2)

    assert _digests(lose_all, cluster=dask.address) == wanted


def _bytes(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_build_with_own_files_on_workers_that_do_not_have_them(dask: Cluster, tmp_path: Path, checkout: Path) -> None:
    with restored():
        load_spec(checkout / "docs" / "tutorial_format" / "spec")
        for where, out in (({"jobs": 1}, "one"), ({"jobs": 2}, "two"), ({"cluster": dask.address}, "many")):
            build(tmp_path / out, SUITES, [CONTRACT, OWN], **where)  # type: ignore[arg-type]
    one, two, many = (_bytes(tmp_path / out) for out in ("one", "two", "many"))
    assert one == two == many and {path.split("__")[1].split("_to_")[1] for path in one if "__" in path} == {"e2m1", "e2m1_nan"}


def _quantize(folder: Path, name: str, *words: str) -> tuple[int, bytes]:
    """Quantize the model in a folder; return the exit code and the bytes of the result."""
    out = folder / f"{name}.safetensors"
    code = run(["quantize", str(folder / "model"), "-q", "-o", str(out), *words])
    return code, out.read_bytes() if out.exists() else b""


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """A folder with a model in three files: tensors of one piece and of several, one that does not fit, one that is refused by none."""
    (tmp_path / "model").mkdir()
    shapes = {"a": (1100, 2048), "b": (3, 64), "norm": (64,), "c": (2, 600, 1024), "d": (513, 1040)}
    for number, (name, shape) in enumerate(shapes.items()):
        bits = (words(number, math.prod(shape)) & 0x83FFFFFF) + 0x38000000
        save_file({f"{name}.weight": bits.view(np.float32).reshape(shape)}, tmp_path / "model" / f"{number}.safetensors")
    return tmp_path


@pytest.mark.cases(0, 1)
@pytest.mark.parametrize("options", [("nvfp4_te",), ("ufp4_sr", "--random-key", "5")])
def test_files_are_quantized_to_the_same_bytes(
    dask: Cluster, model: Path, options: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    options = ("-r", *options)
    wanted = _quantize(model, "one", *options)
    assert wanted[0] == 0 and len(wanted[1]) > 1_000_000
    assert _quantize(model, "two", *options, "--cluster", dask.address) == wanted
    assert _quantize(model, "three", *options, "--cluster", "local:2") == wanted
    calls, add = [lambda: dask.kill(workers=1)], StoredWriter.add

    def disturbed(writer: StoredWriter, *given: Any) -> None:
        """Kill a worker when the first tensor is there, and all of the cluster after it."""
        add(writer, *given)
        if calls:
            calls.pop()()

    monkeypatch.setattr(StoredWriter, "add", disturbed)
    assert _quantize(model, "four", *options, "--cluster", dask.address) == wanted and not calls

    def lose_all() -> None:
        dask.kill(scheduler=True, workers=1)
        dask.start(2)

    calls.append(lose_all)
    assert _quantize(model, "five", *options, "--cluster", dask.address) == wanted and not calls


def test_a_checkpoint_of_many_files_is_converted_to_the_same_bytes(dask: Cluster, model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every weight is quantized again; a worker is killed in the middle."""
    monkeypatch.setattr(writing, "SHARD_BYTES", 400_000)
    monkeypatch.setattr(emu.checkpoint.read, "CHUNK", 1 << 16)
    assert run(["quantize", str(model / "model"), "-q", "-r", "mxfp4_torchao_rceil", "-o", str(model / "q.safetensors")]) == 0
    source = model / "modelopt"
    convert.convert_checkpoint(model / "q.safetensors", "modelopt_nvfp4", source, requantize=True)
    assert len(list(source.glob("*.safetensors"))) > 2
    arguments = [
        "convert-checkpoint",
        str(source),
        "--to",
        "compressed_tensors_mxfp4",
        "-q",
        "--requantize",
        "--recipe",
        "mxfp4_torchao_ceil",
    ]
    found = {}
    steps, done = [0], requantize.Requantized.chunks

    def disturbed(weight: requantize.Requantized) -> Iterator[StoredRows]:
        for rows in done(weight):
            yield rows
            steps[0] += 1
            if steps[0] == 5 and cluster_only:
                dask.kill(workers=1)

    monkeypatch.setattr(requantize.Requantized, "chunks", disturbed)
    for name, where in (("one", ()), ("two", ("--jobs", "3")), ("many", ("--cluster", dask.address))):
        cluster_only, steps[0] = name == "many", 0
        assert run([*arguments, "--out", str(model / name), *where]) == 0
        found[name] = _bytes(model / name)
        assert steps[0] > 10
    assert len(dask.workers) == 1 and len(found["one"]) > 3
    assert found["one"] == found["two"] == found["many"]
    monkeypatch.setattr(carrying, "_package", lambda: "0" * 64)
    assert run([*arguments, "--out", str(model / "no"), "--cluster", dask.address]) == 2
    assert not [path for path in model.iterdir() if "no" in path.name]


def test_what_is_refused_leaves_no_file(
    dask: Cluster, model: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A tensor that its recipe refuses, workers of another emu, no scheduler: one line, no file; the first as one process says it."""
    wrong = np.zeros((1100, 1024), np.float32)
    wrong[1050, 7] = np.nan
    (model / "wrong").mkdir()
    save_file({"a.weight": np.ones((1100, 1024), np.float32), "b.weight": wrong}, model / "wrong" / "0.safetensors")
    told = []
    for where in ((), ("--cluster", dask.address)):
        code = run(["quantize", str(model / "wrong"), "-q", "-r", "mxfp4_quark_even", "-o", str(model / "no.safetensors"), *where])
        told.append((code, _line(capsys)))
    assert told[0] == told[1] and told[0][0] == 2 and "b.weight" in told[0][1]
    monkeypatch.setattr(carrying, "_package", lambda: "0" * 64)
    assert _quantize(model, "no", "-r", "nvfp4_te", "--cluster", dask.address) == (2, b"")
    assert "another version of emu" in _line(capsys)
    dask.kill(scheduler=True, workers=2)
    monkeypatch.setattr(carrying, "workers_of", partial(cluster.workers_of, patience=1.0))
    assert _quantize(model, "no", "-r", "nvfp4_te", "--cluster", dask.address) == (5, b"")
    assert "no scheduler listens there (connection refused)" in _line(capsys)
    assert {path.suffix for path in model.iterdir() if path.is_file()} == {".log"}


def _line(capsys: pytest.CaptureFixture[str]) -> str:
    said = capsys.readouterr()
    assert said.out == "" and said.err.count("\n") == 1, said.err
    return said.err


def test_errors_of_tasks_and_workers_of_another_emu(dask: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(SpecError, match="format 'e2m' is unknown"):
        list(results(partial(get, "format"), ["e2m1", "e2m"], cluster=dask.address))
    monkeypatch.setattr(carrying, "_package", lambda: "0" * 64)
    with pytest.raises(SpecError, match="another version of emu"):
        list(results(partial(get, "format"), ["e2m1"], cluster=dask.address))


@contextmanager
def _started(folder: Path, environment: dict[str, str]) -> Iterator[Cluster]:
    """Give a scheduler and a worker in another environment."""
    made = Cluster(folder, environment)
    try:
        made.start()
        yield made
    finally:
        made.kill(scheduler=True, workers=1)


def _other_emu(folder: Path, changed: str) -> Path:
    """Return a folder with a copy of the package and of its spec, as a wheel holds them, in which one file is a line longer."""
    package = folder / "emu"
    shutil.copytree(Path(emu.__file__).parent, package, ignore=shutil.ignore_patterns("__pycache__", "_spec"))
    shutil.copytree(shipped_root(), package / "_spec")
    with (package / changed).open("a", encoding="utf-8") as file:
        file.write("\n# changed\n")
    return folder


@pytest.mark.parametrize("changed", ["engines/exact/__init__.py", "_spec/rounding/rne.yaml"])
def test_a_worker_that_really_has_another_emu_gives_nothing(
    changed: str, tmp_path: Path, model: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another version, or another shipped spec: code 2, one line; no row, digest or tensor is in a result."""
    monkeypatch.setattr(cluster, "_TOLD", cluster.PATIENCE)  # a worker takes as long as it takes to start
    other = _other_emu(tmp_path / "other", changed)
    with _started(tmp_path, {"PYTHONPATH": str(other)}) as dask:
        with cluster.workers_of(dask.address) as found:
            assert dict(found.done(eval, ["__import__('emu').__file__"])) == {0: str(other / "emu" / "__init__.py")}
        for words in (
            ["vectors", "build", "--suite", "smoke", "--contract", CONTRACT, "--out", str(tmp_path / "no")],
            ["sweep", "--only", "fp32", "--only", "e2m1", "--only", "rne", "--only", "saturate", "--out", str(tmp_path / "no.json")],
            ["quantize", str(model / "model"), "-r", "nvfp4_te", "-o", str(tmp_path / "no.safetensors")],
        ):
            assert run([*words, "-q", "--cluster", dask.address]) == 2
            assert _line(capsys) == (
                "emu: cluster: a worker has another version of emu: install the same one for all, and start the workers again\n"
            )
    left = [path for place in tmp_path.glob("no*") for path in (place, *place.rglob("*"))]
    kept = {path.name: path.read_text("utf-8") for path in left if path.is_file()}
    assert kept == {"no.json.partial": '{"finished": {}, "leaves": {}}'}  # a sweep that found nothing


def test_a_scheduler_without_emu_is_told(tmp_path: Path) -> None:
    """It reads the names of the functions that it hands on."""
    (tmp_path / "emu.py").write_text("raise ImportError('no emu here')\n", encoding="utf-8")
    with _started(tmp_path, {"PYTHONPATH": str(tmp_path)}) as dask, pytest.raises(ToolError) as told:
        list(results(partial(get, "format"), ["e2m1"], cluster=dask.address))
    hint = "install the same one for all, and start it and the workers again"
    assert str(told.value) == f"cluster {dask.address}: its scheduler has no emu, or another one: {hint}"


@pytest.mark.parametrize("broken", [False, True])
def test_a_worker_with_another_spec_folder_does_not_use_it(broken: bool, tmp_path: Path, checkout: Path) -> None:
    """EMU_SPEC_PATH of a worker: objects of the command's own ids with other facts, or files that do not load."""
    mine, theirs = checkout / "docs" / "tutorial_format" / "spec", tmp_path / "theirs"
    shutil.copytree(mine, theirs)
    file = theirs / "format" / "e2m1_nan.yaml"
    file.write_text("{" if broken else file.read_text("utf-8") + "# changed\n", encoding="utf-8")
    with restored():
        load_spec(mine)
        build(tmp_path / "one", SUITES, [CONTRACT, OWN])
        with _started(tmp_path, {"EMU_SPEC_PATH": str(theirs)}) as dask:
            build(tmp_path / "many", SUITES, [CONTRACT, OWN], cluster=dask.address)
    assert _bytes(tmp_path / "one") == _bytes(tmp_path / "many")


def test_a_task_that_kills_its_workers_is_told_in_one_line() -> None:
    with pytest.raises(ToolError, match="workers died one after the other of one task"):
        list(done_by_cluster(os._exit, [3], "local:1"))


def test_no_scheduler_and_no_worker(tmp_path: Path) -> None:
    lonely = Cluster(tmp_path)
    begin = time.monotonic()
    with pytest.raises(ToolError, match=rf"cluster {lonely.address}: no scheduler listens there \(connection refused\): start one"):
        list(done_by_cluster(str, [1], lonely.address, patience=1))
    lonely.start(0)
    with pytest.raises(ToolError, match=rf"cluster {lonely.address}: no worker for 3 seconds: start it again"):
        list(done_by_cluster(str, [1], lonely.address, patience=3))
    lonely.kill(scheduler=True, workers=0)
    assert time.monotonic() - begin < cluster.PATIENCE


SLEEPER = """
import sys, time
from emu.base.cluster import workers_of
from emu.base.errors import ToolError
if __name__ == "__main__":
    try:
        with workers_of(sys.argv[1], 600.0) as workers:
            for index, _ in workers.done(time.sleep, [0.0, *map(float, sys.argv[2:])]):
                workers.patience = 5.0
                print(index, flush=True)
    except ToolError as error:
        sys.exit(f"emu: {error}")
"""


@contextmanager
def _sleeper(folder: Path, address: str, *seconds: str) -> Iterator[subprocess.Popen[str]]:
    """Give a process whose tasks sleep, and which is patient for 5 seconds, when the first is done."""
    (folder / "sleeper.py").write_text(SLEEPER, encoding="utf-8")
    command = [sys.executable, str(folder / "sleeper.py"), address, *seconds]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=folder) as process:
        try:
            assert process.stdout is not None and process.stderr is not None
            assert process.stdout.readline() == "0\n", process.stderr.read()
            yield process
        finally:
            process.kill()


def _later(err: str) -> list[str]:
    """Return what a sleeper said, but for its wait for the first answer, which takes as long as workers take to start."""
    return [line for line in err.splitlines() if "at most 600 seconds" not in line]


@pytest.mark.parametrize(
    ("lost", "lacks", "awaited"),
    [
        (lambda dask: dask.kill(scheduler=True, workers=0), "no scheduler answers", "the scheduler"),
        (lambda dask: dask.scheduler.send_signal(signal.SIGSTOP), "no scheduler answers", "the scheduler"),
        (lambda dask: dask.kill(workers=2), "no worker", "a worker"),
    ],
    ids=["scheduler killed", "scheduler stopped", "workers killed"],
)
def test_what_does_not_come_back_is_told_and_ends_the_command(
    dask: Cluster, tmp_path: Path, lost: Callable[[Cluster], None], lacks: str, awaited: str
) -> None:
    """A line while it waits and one when it ends; nothing of the library's, when Python ends neither."""
    with _sleeper(tmp_path, dask.address, *["100"] * 8) as process:
        lost(dask)
        out, err = process.communicate(timeout=120)
    *told, last = [line.removeprefix(f"emu: cluster {dask.address}: ") for line in _later(err)]
    assert (process.returncode, out) == (1, "")
    assert last == f"{lacks} for 5 seconds: start it again and give the same command, which goes on"
    assert {*told} == {f"{lacks}: waiting for {awaited}, at most 5 seconds"}


def test_a_stopped_worker_is_let_go_and_its_tasks_are_done(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As docs/scale.md says it: by the scheduler's worker-ttl, 300 seconds where nobody sets another."""
    monkeypatch.setenv("DASK_DISTRIBUTED__SCHEDULER__WORKER_TTL", "5s")
    dask = Cluster(tmp_path)
    dask.start(2)
    try:
        with _sleeper(tmp_path, dask.address, *["0.1"] * 30) as process:
            dask.workers[0].send_signal(signal.SIGSTOP)
            out, err = process.communicate(timeout=300)
        assert (process.returncode, sorted(map(int, out.split())), _later(err)) == (0, list(range(1, 31)), [])
    finally:
        dask.kill(scheduler=True, workers=2)


def test_a_killed_command_leaves_no_task_and_no_process(dask: Cluster, tmp_path: Path) -> None:
    import distributed
    import psutil

    with _sleeper(tmp_path, dask.address, *["1"] * 100) as process:
        process.kill()
    with distributed.Client(dask.address, set_as_default=False) as client:
        for _ in range(600):
            if not (left := client.run_on_scheduler(lambda dask_scheduler: len(dask_scheduler.tasks))):
                break
            time.sleep(0.1)
    assert left == 0
    with _sleeper(tmp_path, "local:2", *["1"] * 100) as process:
        children = psutil.Process(process.pid).children(recursive=True)
        assert len(children) >= 2
        process.kill()
    assert psutil.wait_procs(children, timeout=120)[1] == []


def test_two_on_one_machine_say_nothing(recwarn: pytest.WarningsRecorder) -> None:
    """Each has ports of its own."""
    with cluster.workers_of("local:1") as one, cluster.workers_of("local:1") as two:
        assert [list(each.done(abs, [-1])) for each in (one, two)] == [[(0, 1)]] * 2
    assert not [str(warning.message) for warning in recwarn if "already in use" in str(warning.message)]


def test_results_in_turn_hold_few_tasks() -> None:
    """None is drawn long before an earlier one is done, wherever it was handed in; all come."""
    drawn: list[int] = []
    done: set[int] = set()

    def tasks() -> Iterator[float]:
        for place in range(40):
            drawn.append(place)
            assert place - min(set(drawn) - done) < 4 * cluster._AHEAD  # two workers; twice when the first is there
            yield 1.0 if place == 0 else 0.0

    with cluster.workers_of("local:2") as workers:
        for place, _ in workers.done(time.sleep, tasks(), in_turn=True):
            done.add(place)
    assert done == set(range(40))


def test_more_tasks_than_are_handed_in_at_once() -> None:
    count = 3 * cluster._AHEAD
    assert sorted(done_by_cluster(abs, range(-count, 0), "local:2")) == [(place, count - place) for place in range(count)]


def test_a_script_without_a_guard_is_told(tmp_path: Path) -> None:
    """Its workers would run it again: they cannot start."""
    script = tmp_path / "mine.py"
    script.write_text("from emu.base.cluster import done_by_cluster\nprint(list(done_by_cluster(abs, [-1], 'local:1')))\n")
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, cwd=tmp_path, check=False)
    assert done.returncode == 1 and "[(0, 1)]" not in done.stdout
    assert done.stderr.rstrip().endswith(
        "its workers do not start (RuntimeError): a script of your own calls emu below "
        "`if __name__ == '__main__':`, as with multiprocessing"
    )
