"""Seeded faults that named tests kill: the catalogue, a copy of the package with one of them in it, and the run that judges it.

A fault names the tests of the default run that must fail on it. Golden rows are single blocks and short chains; what kernels get wrong
beside arithmetic (the end of a chunk, a stride, a second register of lanes, a part given to another thread, a cache) shows on arrays only.
Catalogues: kernels.yaml (C kernels and the Python around them), python.yaml (what a test of that folder was once too weak to see),
checks.yaml (what a check asks and how it judges: a fault there lets wrong kernels pass), levels.yaml (datapaths of levels), p3109.yaml
(formats and projections of that draft). In `old` and `new` a backtick stands for a double quote.
The checkout is never touched: the copy is a folder of links with one file written, or with the kernels compiled again from a changed one.
Not here: what happens inside the test run (mutation_named_judge).
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final, NamedTuple

from support.mutation import includes, link_all, package_folder, read_entries, replaced_once, write_package
from support.mutation_kill import SCHEMA, catalogue_sha256

from emu.base.errors import EmuError, EngineError, FileError
from emu.vectors.suites.notes import KILL_CLASSES

# Beside the classes of golden rows: ends of chunks and bands, strides and axes, parts given to threads or panels, widths beyond one
# register of lanes, stale caches; and what is said of results, not computed.
ARRAY_CLASSES: Final = ("edge", "stride", "partition", "lanes", "cache", "report")
KERNELS: Final = "engines/native/kernels"
LIBRARY: Final = "kernels.so"
COMPILE: Final = ("cc", "-O1", "-std=c99", "-fPIC", "-ffp-contract=off", "-fno-wrapv")
REPORT: Final = "EMU_MUTANT_REPORT"  # environment: the file into which the test run writes what failed
JUDGE: Final = "support.mutation_named_judge"
COMMAND: Final = "EMU_KILL=write pytest tests/mutation -m mutants -k named"
SECONDS: Final = 200
BINDING: Final = f"""from pathlib import Path
from cffi import FFI

ffi = FFI()
ffi.cdef(Path(__file__).with_name("kernels.cdef").read_text(encoding="utf-8"))
lib = ffi.dlopen(str(Path(__file__).with_name("{LIBRARY}")))
"""


class NamedFault(NamedTuple):
    """One fault: `old`, which stands once in `file` (below emu/), becomes `new`.

    kill_class: one of KILL_CLASSES or ARRAY_CLASSES.   tests: of the default run, below tests/, as file::function; each must fail.
    form: the least form of the kernels that shows it, 0 to 2 as in kernels.h; a machine without that form cannot try the fault.
    """

    id: str
    kill_class: str
    tests: tuple[str, ...]
    text: str
    file: str
    old: str
    new: str
    form: int = 0

    def changed(self) -> str:
        """Return the text of the file with the fault in it. Raises: FileError unless `old` stands in it exactly once."""
        source = package_folder() / self.file
        return replaced_once(source.read_text(encoding="utf-8"), self.old, self.new, f"fault {self.id}", f"emu/{self.file}")


def read_named_faults(paths: Iterable[Path]) -> list[NamedFault]:
    """Return the faults of catalogue files. Raises: SpecError, as read_entries."""
    return read_entries(paths, lambda path, entry: _fault(path.stem.removesuffix("s"), entry))


def _fault(layer: str, entry: dict[str, Any]) -> NamedFault:
    needed, known = {"id", "class", "tests", "text", "file", "old", "new"}, {*KILL_CLASSES, *ARRAY_CLASSES}
    if set(entry) - {"form"} != needed:
        raise ValueError(f"the keys of a fault of layer {layer} are {', '.join(sorted(needed))}, and form where it is not 0")
    if entry["class"] not in known or not entry["tests"] or not all("::test_" in name for name in entry["tests"]):
        raise ValueError(f"class {entry['class']} or tests {entry['tests']} unknown: a test is written as folder/file.py::function")
    if not entry["id"].startswith(f"{layer}_"):
        raise ValueError(f"the id {entry['id']} does not begin with {layer}_")
    texts = {key: entry.pop(key).replace("`", '"') for key in ("old", "new")}
    return NamedFault(kill_class=entry.pop("class"), tests=tuple(entry.pop("tests")), **entry, **texts)


def refused_named(faults: Iterable[NamedFault]) -> list[str]:
    """Return one line for each fault that cannot be made any more."""
    lines = []
    for fault in faults:
        try:
            fault.changed()
        except EmuError as error:
            lines.append(str(error))
    return lines


class NamedBench:
    """Runs named tests on copies of the package, each with a fault in it.

    folder: an empty one.   tests: the folder of the tests.   Raises: FileError when there is no C compiler, or it refuses a fault.
    """

    def __init__(self, folder: Path, tests: Path) -> None:
        self.folder, self.tests = folder, tests
        self.sources = package_folder() / KERNELS
        self.units = sorted(path.name for path in self.sources.glob("*.c"))
        self.right = folder / "objects"
        self.right.mkdir()
        self.compile(self.right, self.units)

    def compile(self, folder: Path, units: Sequence[str], name: str = "", text: str = "") -> None:
        """Compile units in a folder, with one file of another text, to a library; objects that are not made come from the right ones."""
        for path in self.sources.glob("*.[ch]"):
            (folder / path.name).write_bytes(path.read_bytes())
        if name:
            (folder / name).write_text(text, encoding="utf-8")
        objects = [(folder if unit in units else self.right) / f"{unit[:-2]}.o" for unit in self.units]
        for command in ([*COMPILE, "-c", *units], [COMPILE[0], "-shared", "-o", LIBRARY, *map(str, objects)]):
            try:
                done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
            except OSError as error:
                raise FileError(f"{command[0]}: {error.strerror}: the faults of the kernels need a C compiler") from None
            if done.returncode:
                raise FileError(f"{folder.name}: {command[0]}: {done.stderr.strip()[:300] or done.returncode}")

    def copy(self, fault: NamedFault) -> Path:
        """Write the package with a fault; return the folder that it lies in. A fault without text is none: the right code."""
        folder, text = self.folder / fault.id, fault.changed() if fault.text else ""
        write_package(folder, None)
        place, made = folder / "emu", folder / "made"
        for part in Path(fault.file).parts[: 2 if fault.file.startswith(KERNELS) else -1]:
            source, place = (place / part).resolve(), place / part
            place.unlink()
            link_all(source, place)
        if not fault.file.startswith(KERNELS):
            (place / Path(fault.file).name).unlink()
            (place / Path(fault.file).name).write_text(text, encoding="utf-8")
            return folder
        for path in [*place.glob("_kernels.*.so"), *place.glob("_kernels.so")]:
            path.unlink()
        made.mkdir()
        name = Path(fault.file).name
        units = [unit for unit in self.units if name in includes(self.sources, unit)] if fault.text else []
        if units:
            self.compile(made, units, name, text)
        (place / LIBRARY).symlink_to((made if units else self.right) / LIBRARY)
        header = (self.sources / "kernels.h").read_text(encoding="utf-8")
        (place / "kernels.cdef").write_text(header.split("/* cdef begin */")[1].split("/* cdef end */")[0], encoding="utf-8")
        (place / "_kernels.py").write_text(BINDING, encoding="utf-8")
        return folder

    def run(self, faults: Sequence[NamedFault], jobs: int = 1) -> dict[str, list[str]]:
        """Return fault id -> which of its tests fail. Raises: EngineError (a test run that dies, does not end or collects nothing)."""
        with ThreadPoolExecutor(jobs) as pool:
            return dict(zip([fault.id for fault in faults], pool.map(self.judged, faults), strict=True))

    def judged(self, fault: NamedFault) -> list[str]:
        """Return which tests of a fault fail on its copy, in the order of the catalogue."""
        folder = self.copy(fault)
        report, command = folder / "report.json", [sys.executable, "-m", "pytest", "-q", "-p", JUDGE, "-p", "no:cacheprovider", "--tb=no"]
        environment = os.environ | {
            "PYTHONPATH": os.pathsep.join((str(folder), str(Path(__file__).parents[1]))),
            "PYTHONDONTWRITEBYTECODE": "1",
            "PYTHONSAFEPATH": "1",
            REPORT: str(report),
        }
        try:
            done = subprocess.run([*command, *(str(self.tests / name) for name in fault.tests)], cwd=self.tests.parent, env=environment,
                                  capture_output=True, text=True, check=False, timeout=SECONDS)  # fmt: skip
        except subprocess.TimeoutExpired:
            raise EngineError(f"fault {fault.id}: its tests did not end within {SECONDS} seconds") from None
        if done.returncode not in (0, 1) or not report.is_file():
            raise EngineError(f"fault {fault.id}: its tests ended with {done.returncode}: {(done.stdout + done.stderr).strip()[-400:]}")
        failed = json.loads(report.read_text(encoding="utf-8"))
        return [name for name in fault.tests if name.removeprefix("tests/") in failed]


def named_head(fault: NamedFault) -> dict[str, Any]:
    """Return what the record says of a fault before it is tried."""
    return {
        "id": fault.id,
        "layer": fault.id.partition("_")[0],
        "class": fault.kill_class,
        "form": fault.form,
        "where": f"emu/{fault.file}",
        "change": f"{fault.old} -> {fault.new}",
        "text": fault.text,
    }


def named_record(faults: Sequence[NamedFault], failing: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    """Return the data of KILL_named.json. failing: fault id -> its tests that failed.

    The shape is that of KILL.json: what judges stands under `suites`, here each test with the number of faults that it kills.
    """
    mutants = [named_head(fault) | {"killedBy": list(failing[fault.id])} for fault in faults if failing[fault.id]]
    survivors = [named_head(fault) for fault in faults if not failing[fault.id]]
    judges = Counter(name for row in mutants for name in row["killedBy"])
    head = {"schema": SCHEMA, "command": COMMAND, "catalogue_sha256": catalogue_sha256(faults)}
    return head | {"suites": dict(sorted(judges.items())), "mutants": mutants, "survivors": survivors}
