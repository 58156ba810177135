"""Seeded faults of code and spec as data: the catalogue, and a copy of the package or of the C reference with one of them in it.

A fault of code is one text that stands exactly once in one file, and what it becomes. A fault of the spec is one mutant of
support.mutants. The checkout is never touched: the copy is a folder of links with one file written.
Not here: the rows that judge (mutation_rows), the process that derives them (mutation_worker), who killed what (mutation_kill).
"""

from __future__ import annotations

import posixpath
import shlex
import shutil
import subprocess
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any, Final, NamedTuple, Protocol, TypeVar

from support.mutants import Mutant, mutants

from emu.base.errors import EmuError, FileError, SpecError
from emu.spec import get
from emu.spec.loader import read
from emu.spec.registry import shipped_root
from emu.vectors.files.manifest import OPERATIONS
from emu.vectors.suites.notes import KILL_CLASSES

LAYERS: Final = ("spec", "exact", "numpy", "c")
WORDS: Final = "words"  # rows of shared random words, which no vector file holds: they carry operands already split
CALCULATE: Final = "calculate"  # rows of single operations of programs, which no vector file holds either
LIBRARY: Final = "emu_ref.so"
COMPILE: Final = ("cc", "-O0", "-std=c99", "-fPIC", "-fno-wrapv", "-DEMU_ONE_FORM")


class _Named(Protocol):
    @property
    def id(self) -> str: ...


Entry = TypeVar("Entry", bound=_Named)


class Fault(NamedTuple):
    """One fault.

    kill_class: one of KILL_CLASSES.   ops: the operations whose rows are derived.   file, old, new: a fault of code; the file lies in the
    folder of its layer.   change: a fault of the spec, as support.mutants writes it.   text: what the fault is.
    """

    id: str
    layer: str
    kill_class: str
    ops: tuple[str, ...]
    text: str
    file: str = ""
    old: str = ""
    new: str = ""
    change: str = ""

    def where(self) -> str:
        """Return the place of the fault: a file below the root of the tree, or an object of the spec."""
        if self.layer == "spec":
            return f"spec/{self.change.split(' ', 1)[0]}.yaml"
        return f"c_ref/{self.file}" if self.layer == "c" else f"emu/engines/{self.layer}/{self.file}"

    def edit(self) -> str:
        """Return the change in one line."""
        return self.change if self.layer == "spec" else f"{self.old} -> {self.new}"

    def mutant(self) -> Mutant:
        """Return the mutant of a fault of the spec. Raises: SpecError."""
        kind, _, name = self.change.split(" ", 1)[0].partition("/")
        for found in mutants(get(kind, name)):
            if str(found) == self.change:
                return found
        raise SpecError(f"{self.id}: {self.change!r} is no mutant of the spec")

    def source(self) -> Path:
        """Return the file that a fault of code changes."""
        return c_folder() / self.file if self.layer == "c" else package_folder() / "engines" / self.layer / self.file

    def changed(self) -> str:
        """Return the text of the file with the fault in it. Raises: FileError unless `old` stands in it exactly once."""
        return replaced_once(self.source().read_text(encoding="utf-8"), self.old, self.new, f"fault {self.id}", self.where())

    def check(self) -> None:
        """Check that the fault can be made. Raises: EmuError."""
        if self.layer == "spec":
            self.mutant()
        else:
            self.changed()


def package_folder() -> Path:
    """Return the folder of the installed package."""
    return Path(str(files("emu"))).resolve()


def c_folder() -> Path:
    """Return the sources of the C reference: inside the installed package, or the checkout's for an editable install."""
    packaged = package_folder() / "_c_ref"
    return packaged if packaged.is_dir() else package_folder().parent / "c_ref"


def replaced_once(text: str, old: str, new: str, what: str, where: str) -> str:
    """Return a text with the one place of `old` replaced. Raises: FileError unless `old` stands in it exactly once and is not `new`."""
    count = text.count(old)
    if count != 1 or old == new:
        raise FileError(f"{what}: {old!r} stands {count} times in {where}: it must stand there once")
    return text.replace(old, new)


def read_entries(paths: Iterable[Path], make: Callable[[Path, dict[str, Any]], Entry]) -> list[Entry]:
    """Return the entries of catalogue files. make: what an entry of a file becomes; a bad one is a KeyError, TypeError or ValueError.

    Raises: SpecError naming the file and line of a bad entry, or the id that is listed twice.
    """
    found: list[Entry] = []
    for path in paths:
        document = read(path, path.name)
        for number, entry in enumerate(document.data["faults"]):
            try:
                found.append(make(path, dict(entry)))
            except (KeyError, TypeError, ValueError) as error:
                raise SpecError(f"{document.where(('faults', number))}: {error}") from None
    counts = Counter(entry.id for entry in found)
    twice = sorted(name for name, count in counts.items() if count > 1)
    if twice:
        raise SpecError(f"fault {twice[0]} is listed twice")
    return found


def read_faults(paths: Iterable[Path]) -> list[Fault]:
    """Return the faults of catalogue files, each named after its layer. Raises: SpecError, as read_entries."""
    return read_entries(paths, lambda path, entry: _fault(path.stem, entry))


def _fault(layer: str, entry: dict[str, Any]) -> Fault:
    wanted = {"id", "class", "ops", "text"} | ({"change"} if layer == "spec" else {"file", "old", "new"})
    if set(entry) != wanted:
        raise ValueError(f"the keys of a fault of layer {layer} are {', '.join(sorted(wanted))}")
    if layer not in LAYERS or entry["class"] not in KILL_CLASSES or not set(entry["ops"]) <= {*OPERATIONS, WORDS, CALCULATE}:
        raise ValueError(f"layer {layer}, class {entry['class']} or operations {entry['ops']} unknown")
    if not entry["id"].startswith(f"{layer}_"):
        raise ValueError(f"the id {entry['id']} does not begin with {layer}_")
    return Fault(layer=layer, kill_class=entry.pop("class"), **entry)


def write_package(folder: Path, fault: Fault | None) -> None:
    """Write a package `emu` with a fault of a Python column into a new folder: links, but for the one file."""
    package, root = package_folder(), shipped_root()
    folder.mkdir()
    link_all(package, folder / "emu")
    if package not in root.parents:
        (folder / "spec").symlink_to(root)
    if fault is not None:
        for below in (Path("engines"), Path("engines", fault.layer)):
            (folder / "emu" / below).unlink()
            link_all(package / below, folder / "emu" / below)
        target = folder / "emu" / "engines" / fault.layer / fault.file
        target.unlink()
        target.write_text(fault.changed(), encoding="utf-8")


def link_all(source: Path, target: Path) -> None:
    """Make a folder of links to what another one holds."""
    target.mkdir()
    for path in source.iterdir():
        if path.name != "__pycache__":
            (target / path.name).symlink_to(path)


class Library:
    """The C reference as shared libraries, each with a fault in one file; the object files of the right one are made once.

    folder: a new one, or with `shared` one that another Library has filled.
    Raises: FileError when there is no C compiler, or it refuses a fault.
    """

    def __init__(self, folder: Path, shared: bool = False) -> None:
        self.folder = folder
        self.units = sorted(path.relative_to(c_folder()).as_posix() for path in c_folder().glob("src/*/*.c"))
        if not shared:
            self.build(folder, None)

    def make(self, fault: Fault | None) -> Path:
        """Return the library with a fault, or without."""
        if fault is None:
            return self.folder / LIBRARY
        self.build(self.folder / fault.id, fault)
        return self.folder / fault.id / LIBRARY

    def build(self, folder: Path, fault: Fault | None) -> None:
        """Compile a copy: one file anew for a fault in it, all of them for a fault in a header."""
        shutil.copytree(c_folder(), folder, ignore=shutil.ignore_patterns("*.o", "*.a", "*.so", "tool", "dpi", "emu_ref"))
        if fault is not None:
            (folder / fault.file).write_text(fault.changed(), encoding="utf-8")
        fresh = self.units if fault is None else [unit for unit in self.units if fault.file in includes(folder, unit)]
        self.run([*COMPILE, "-c", *fresh], folder)
        objects = [(folder if unit in fresh else self.folder) / f"{Path(unit).stem}.o" for unit in self.units]
        self.run([COMPILE[0], "-shared", "-o", LIBRARY, *map(str, objects)], folder)

    def run(self, command: Sequence[str], folder: Path) -> None:
        """Run a compiler command in a folder."""
        try:
            done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        except OSError as error:
            raise FileError(f"{command[0]}: {error.strerror}: the faults of the C reference need a C compiler") from None
        if done.returncode:
            raise FileError(f"{folder.name}: {shlex.join(command[:4])}: {done.stderr.strip()[:300] or done.returncode}")


def includes(folder: Path, name: str) -> set[str]:
    """Return a C file and all files that it includes, as paths from the folder."""
    found, todo = set(), [name]
    while todo:
        name = posixpath.normpath(todo.pop())
        if name not in found and (folder / name).is_file():
            found.add(name)
            lines = (folder / name).read_text(encoding="utf-8").splitlines()
            todo += [posixpath.join(posixpath.dirname(name), line.split('"')[1]) for line in lines if line.startswith('#include "')]
    return found


def refused(faults: Iterable[Fault]) -> list[str]:
    """Return one line for each fault that cannot be made any more."""
    lines = []
    for fault in faults:
        try:
            fault.check()
        except EmuError as error:
            lines.append(str(error))
    return lines
