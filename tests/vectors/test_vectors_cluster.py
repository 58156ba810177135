"""Sweeps and builds on a real Dask scheduler and its workers, which are killed and started again: the bytes are those of one process.

EMU_NEED_CLUSTER: fail where the library is absent.
"""

import importlib.util
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

from emu.base import cluster
from emu.base.cluster import done_by_cluster
from emu.base.errors import SpecError, ToolError
from emu.spec import carried as carrying
from emu.spec.carried import results
from emu.spec.registry import get, load_spec, restored
from emu.vectors import build
from emu.vectors import sweep as sweeps

pytestmark = pytest.mark.exhaustive
CODES = range(0x3FFFFF00, 0x40C00100)
SWEEP = next(one for one in sweeps.planned() if one.name == "fp32/e2m1/rne/saturate")
CONTRACT, OWN, SUITES = "convert/e2m1/rne/nvidia", "convert/e2m1_nan/rne/nvidia", ("smoke",)


@pytest.fixture(autouse=True)
def library() -> None:
    """distributed, or a skip with the reason."""
    if importlib.util.find_spec("distributed") is None:
        assert not os.environ.get("EMU_NEED_CLUSTER"), "no distributed here"
        pytest.skip("no distributed here (pip install 'fp4emu[cluster]')")


class Cluster:
    """A scheduler and workers in processes of their own, on loopback."""

    def __init__(self, folder: Path) -> None:
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        self.folder, self.address = folder, f"tcp://127.0.0.1:{self.port}"
        self.scheduler: subprocess.Popen[bytes] | None = None
        self.workers: list[subprocess.Popen[bytes]] = []

    def _start(self, program: str, *words: str) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", f"distributed.cli.{program}", "--host", "127.0.0.1", "--no-dashboard", *words]
        with (self.folder / f"{program}.log").open("ab") as log:
            return subprocess.Popen(command, cwd=self.folder, stdout=log, stderr=log)

    def start(self, workers: int = 1) -> None:
        """Start what is not there."""
        if self.scheduler is None:
            self.scheduler = self._start("dask_scheduler", "--port", str(self.port))
        for _ in range(workers):
            self.workers.append(
                self._start("dask_worker", self.address, "--no-nanny", "--nthreads", "1", "--local-directory", str(self.folder))
            )

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


def test_errors_of_tasks_and_workers_of_another_emu(dask: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(SpecError, match="format 'e2m' is unknown"):
        list(results(partial(get, "format"), ["e2m1", "e2m"], cluster=dask.address))
    monkeypatch.setattr(carrying, "_package", lambda: "0" * 64)
    with pytest.raises(SpecError, match="another version of emu"):
        list(results(partial(get, "format"), ["e2m1"], cluster=dask.address))


def test_a_task_that_kills_its_workers_is_told_in_one_line() -> None:
    with pytest.raises(ToolError, match="workers died one after the other of one task"):
        list(done_by_cluster(os._exit, [3], "local:1"))


def test_no_scheduler_and_no_worker(tmp_path: Path) -> None:
    lonely = Cluster(tmp_path)
    begin = time.monotonic()
    with pytest.raises(ToolError, match=rf"cluster {lonely.address}: no scheduler answers .*: start it again and give the same command"):
        list(done_by_cluster(str, [1], lonely.address, patience=1))
    lonely.start(0)
    with pytest.raises(ToolError, match=rf"cluster {lonely.address}: no worker"):
        list(done_by_cluster(str, [1], lonely.address, patience=3))
    lonely.kill(scheduler=True, workers=0)
    assert time.monotonic() - begin < cluster.PATIENCE


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
