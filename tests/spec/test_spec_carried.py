"""The spec of a process on a worker: the same facts, files of added folders, a refusal of another emu. One process plays both sides."""

import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from emu.base.errors import SpecError
from emu.spec import carried as carrying
from emu.spec.carried import Carried, carried
from emu.spec.registry import added_folders, get, isolated, knows, load_spec, restored, shipped_root


@pytest.fixture
def worker(monkeypatch: pytest.MonkeyPatch) -> Iterator[carrying._Worker]:
    """A worker that has nothing yet; at the end this process has its own spec again."""
    made = carrying._Worker()
    monkeypatch.setattr(carrying, "_worker", made)
    yield made
    made.inside.close()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a copy of a shipped rounding under another id."""
    text = (shipped_root() / "rounding" / "rne.yaml").read_text().replace('"rne"', '"my_rne"', 1).replace('["rn", "rte"]', "[]")
    place = tmp_path / "mine" / "rounding"
    place.mkdir(parents=True)
    (place / "my_rne.yaml").write_text(text)
    return tmp_path / "mine"


def _known(name: str) -> bool:
    return knows("rounding", name)


def _taken(wanted: Carried) -> bool:
    return carrying._with_spec(wanted, _known, "my_rne")


@pytest.mark.exhaustive  # reads the spec again
def test_a_worker_knows_what_the_process_knows(worker: carrying._Worker, folder: Path) -> None:
    with restored():
        load_spec(folder)
        with_mine = carried()
    without = carried()
    assert with_mine.package == without.package and with_mine.facts != without.facts
    assert [name for name, _ in with_mine.folders[0]] == ["rounding/my_rne.yaml"] and without.folders == ()
    shutil.rmtree(folder)  # the worker does not see the disk of the process
    assert [_taken(one) for one in (with_mine, without, with_mine)] == [True, False, True]
    worker.inside.close()
    assert not _known("my_rne")


@pytest.mark.exhaustive  # reads the spec again
def test_a_worker_has_no_folders_of_its_own(worker: carrying._Worker, folder: Path) -> None:
    plain = carried()
    with restored():
        load_spec(folder)
        assert added_folders() and not _taken(plain)
        worker.inside.close()
        assert _known("my_rne")


def test_a_worker_with_another_package_refuses(worker: carrying._Worker) -> None:
    with pytest.raises(SpecError, match="another version of emu: install the same one"):
        _taken(carried()._replace(package="0" * 64))
    assert worker.carried is None


@pytest.mark.exhaustive  # reads the spec again
def test_changed_files_are_refused(worker: carrying._Worker, folder: Path) -> None:
    with restored():
        load_spec(folder)
        file = folder / "rounding" / "my_rne.yaml"
        file.write_text(file.read_text().replace('less_than_half: "keep"', 'less_than_half: "next"'))
        changed = carried()
    with pytest.raises(SpecError, match="changed since they were loaded"):
        _taken(changed)
    assert worker.carried is None and not _known("my_rne")


def test_the_package_is_told_by_its_files(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """One byte of one file changes the digest; a folder that a wheel has and a clone has not does not."""
    (tmp_path / "a.py").write_bytes(b"x = 1\n")
    (tmp_path / "_spec").mkdir()
    (tmp_path / "_spec" / "b.yaml").write_bytes(b"")
    monkeypatch.setattr(carrying, "files", lambda _: tmp_path)
    found = []
    for text in (b"x = 1\n", b"x = 2\n", b"x = 1\n"):
        (tmp_path / "a.py").write_bytes(text)
        (tmp_path / "_spec" / "b.yaml").write_bytes(text + str(len(found)).encode())
        found.append(carrying._package.__wrapped__())
    assert found[0] == found[2] != found[1]


@pytest.mark.exhaustive  # reads the spec again
def test_the_registry_is_as_before(worker: carrying._Worker) -> None:
    before = get("format", "e2m1")
    _taken(carried())
    assert get("format", "e2m1").facts_digest == before.facts_digest
    worker.inside.close()
    assert get("format", "e2m1") is before
    with isolated(shipped_root()):
        assert carried().folders == ()


FAULTS = """
import resource, numpy, threading
from emu.base.cluster import keep_freed_memory

def faults():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(100):
        numpy.ones(1 << 18, numpy.uint32)
    found.append(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)

found = []
for prepare in (bool, keep_freed_memory, bool):
    prepare()
    thread = threading.Thread(target=faults)
    thread.start()
    thread.join()
print(*found)
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="glibc reads this variable")
def test_a_worker_keeps_the_memory_of_freed_arrays() -> None:
    """Under the variable that Dask sets, each array of 1 MiB comes on 256 new pages; once the worker is prepared, the first one alone."""
    environment = os.environ | {"MALLOC_TRIM_THRESHOLD_": "65536"}
    done = subprocess.run([sys.executable, "-c", FAULTS], env=environment, capture_output=True, text=True, check=True)
    before, _, after = (int(word) for word in done.stdout.split())
    assert before > 100 * 200 and after < 1000, done.stdout


def test_a_worker_is_prepared_first(worker: carrying._Worker, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[str] = []
    monkeypatch.setattr(carrying, "keep_freed_memory", lambda: calls.append("memory"))
    with pytest.raises(SpecError):
        _taken(carried()._replace(package="0" * 64))
    assert calls == ["memory"]
