"""Seeded faults that no golden row can show, each killed by a test of the default run: catalogue/sizes.yaml names both.

pytest tests/mutation/test_mutation_sizes.py -m mutants tries them, some seconds each; -k with the id of a fault tries that one.
"""

import os
import re
import runpy
import shutil
import subprocess
import sys
import sysconfig
from collections import Counter
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from support.mutation import includes, package_folder, read_entries, replaced_once

from emu.spec.loader import read

ROOT = Path(__file__).resolve().parents[2]
CATALOGUE = Path(__file__).with_name("catalogue") / "sizes.yaml"
CLASSES = (
    "chunk", "stride", "lane", "thread", "cache", "limit", "sticky", "order", "level", "layout", "typed", "loader", "writer",
    "trace", "step", "bench", "projection",
)  # fmt: skip
BUILD = {"emu/engines/native/kernels": ("emu/engines/native/kernels/build.py", "_kernels"), "c_ref/src": ("c_ref/build.py", "_c")}
COMPILE = ("cc", "-O0", "-std=c99", "-fPIC", "-ffp-contract=off", "-fno-wrapv")


class Fault(NamedTuple):
    """A text of one file below the root of the tree and what it becomes; the test that kills it, and which of its cases."""

    id: str
    kill_class: str
    text: str
    file: str
    old: str
    new: str
    test: str
    where: str

    def changed(self) -> str:
        """The text of the file with the fault in it."""
        return replaced_once((ROOT / self.file).read_text(encoding="utf-8"), self.old, self.new, f"fault {self.id}", self.file)


def fault(_: Path, entry: dict[str, Any]) -> Fault:
    if entry["class"] not in CLASSES or not entry["id"].startswith("size_"):
        raise ValueError(f"the id {entry['id']} does not begin with size_, or class {entry['class']} is unknown")
    texts = {key: text.replace("`", '"') if key in ("old", "new") else text for key, text in entry.items() if key != "class"}
    return Fault(kill_class=entry["class"], **texts)


FAULTS = read_entries([CATALOGUE], fault)


def test_every_fault_can_be_made_and_names_a_test() -> None:
    for item in FAULTS:
        assert item.changed()
        path, _, name = item.test.partition("::")
        assert re.search(rf"^def {name}\(", (ROOT / "tests" / path).read_text(encoding="utf-8"), re.MULTILINE), item
    counts = Counter(item.kill_class for item in FAULTS)
    assert set(counts) == set(CLASSES) and min(counts.values()) >= 3, counts
    assert len({(item.file, item.old, item.new) for item in FAULTS}) == len(FAULTS)
    assert read(CATALOGUE, "sizes.yaml").data.keys() == {"faults"}


class Copies:
    """Copies of the package, the spec and the C reference with one fault each; object files of the right C are made once."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.right = folder, folder / "right"
        self.copy(self.right)
        for source, (script, name) in BUILD.items():
            self.link(self.right, source, script, name, self.units(source))

    def copy(self, target: Path) -> None:
        for name in ("emu", "spec", "c_ref", "vectors/bench"):
            shutil.copytree(ROOT / name, target / name, ignore=shutil.ignore_patterns("__pycache__", "*.so"))
        for path in (package_folder() / "engines").glob("*/*.so"):
            shutil.copy(path, target / "emu" / "engines" / path.parent.name)

    def units(self, source: str) -> list[str]:
        return sorted(path.relative_to(ROOT / source).as_posix() for path in (ROOT / source).rglob("*.c"))

    def link(self, target: Path, source: str, script: str, name: str, fresh: list[str]) -> None:
        """Compile files of an extension anew, take the other objects from the right copy, and link them."""
        objects, include = target / "objects" / name, ["-I", sysconfig.get_path("include"), "-I", str((target / script).parent)]
        objects.mkdir(parents=True)
        if target == self.right:
            with pytest.MonkeyPatch.context() as patch:
                patch.chdir(target)
                runpy.run_path(script)["ffi"].emit_c_code(str(objects / "wrapper.c"))
            self.run([*COMPILE, *include, "-c", "wrapper.c"], objects)
        self.run([*COMPILE, *include, "-c", *(str(target / source / unit) for unit in fresh)], objects)
        names = [f"{Path(unit).stem}.o" for unit in [*self.units(source), "wrapper.c"]]
        paths = [str(path if (path := objects / name).is_file() else self.right / "objects" / objects.name / name) for name in names]
        library = next((target / "emu" / "engines").glob(f"*/{name}.*so"))
        self.run([COMPILE[0], "-shared", "-o", str(library), *paths], objects)

    @staticmethod
    def run(command: list[str], folder: Path) -> None:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr[-2000:]

    def make(self, item: Fault) -> Path:
        target = self.folder / item.id
        self.copy(target)
        (target / item.file).write_text(item.changed(), encoding="utf-8")
        for source, (script, name) in BUILD.items():
            unit = item.file.removeprefix(f"{source}/")
            if unit != item.file and unit.endswith((".c", ".h")):
                self.link(target, source, script, name, [other for other in self.units(source) if unit in includes(target / source, other)])
        return target


def outcome(copy: Path, test: str, where: str) -> tuple[int, str]:
    """The exit code of a test on a copy, and what it printed; 1: it failed."""
    command = [sys.executable, "-P", "-m", "pytest", "-q", "-x", "--noconftest", "-p", "no:cacheprovider", "--rootdir", str(ROOT)]
    command += ["-c", str(ROOT / "pyproject.toml"), *(["-k", where] if where else []), str(ROOT / "tests" / test)]
    done = subprocess.run(
        command,
        cwd=copy,
        env={**os.environ, "PYTHONPATH": os.pathsep.join((str(copy), str(ROOT / "tests"))), "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout[-3000:] + done.stderr[-1000:]


@pytest.fixture(scope="module")
def copies(tmp_path_factory: pytest.TempPathFactory) -> Copies:
    return Copies(tmp_path_factory.mktemp("copies"))


@pytest.mark.mutants
@pytest.mark.parametrize("test", sorted({item.test.partition("::")[0] for item in FAULTS}))
def test_a_copy_without_a_fault_passes(test: str, copies: Copies) -> None:
    assert outcome(copies.right, test, "")[0] == 0


@pytest.mark.mutants
@pytest.mark.parametrize("item", FAULTS, ids=lambda item: item.id)
def test_every_fault_is_killed_by_its_test(item: Fault, copies: Copies) -> None:
    if "emu/engines/torch/" in item.file and find_spec("torch") is None:
        pytest.skip("torch is not installed: extra [torch]")
    copy = copies.make(item)
    code, said = outcome(copy, item.test, item.where)
    assert code == 1, f"{item.text}: pytest ended with {code}: {said}"
    shutil.rmtree(copy)
