"""From changed files to test files, nearest first.

Python: the graph of imports. A data file beside a module (template, YAML, kernel source): the modules of its folder. An object of spec/:
the tests that name it and those of the loader. C: the tests of its binding, then who uses that. Any other file: the tests that name it.
A kept library was looked at: pytest-testmon needs a recorded run of all tests under coverage in each clone, and sees neither YAML nor C
nor commands in other processes.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from pathlib import Path, PurePosixPath
from typing import Final

from tools.processes import git
from tools.quick.graph import ROOMS, Graph, distances, used_by

NAMED, ROOM, FRAME = 1, 2, 50  # distances: a test that names the file; the tests of its room; those that read every source
FRAME_TESTS: Final = "tests/frame/"


def changed_files(root: Path, since: str) -> list[str]:
    """Return the paths that differ from where this branch left `since`: committed, staged, edited and new ones; removed ones too.

    Raises: FileError (git knows no such revision, or this is no clone).
    """
    base = _git(root, "merge-base", since, "HEAD").strip()
    return sorted(
        {
            *_git(root, "diff", "--name-only", "--no-renames", base).splitlines(),
            *_git(root, "ls-files", "-o", "--exclude-standard").splitlines(),
        }
    )


def _git(root: Path, *words: str) -> str:
    return git(root, *words, hint=", or name a revision with --since")


def python_sources(root: Path) -> dict[str, str]:
    """Return path -> text of the Python files that the graph is made of, as they stand."""
    found = [path for room in (*ROOMS, "tests") for path in sorted((root / room).rglob("*.py"))]
    return {path.relative_to(root).as_posix(): path.read_text(encoding="utf-8", errors="replace") for path in found}


def is_test(path: str) -> bool:
    """Whether a path is a file of tests."""
    return path.startswith("tests/") and PurePosixPath(path).name.startswith("test_") and path.endswith(".py")


def ranked(changed: Collection[str], sources: Mapping[str, str], graph: Graph | None = None) -> tuple[list[tuple[int, str]], list[str]]:
    """Return (distance, test file), nearest first, and the changed files without any test. Of one distance the room of the change is first.

    changed: paths relative to the root.   sources: as of python_sources.   graph: as used_by; None: that of the sources. The tests of the
    frame, which read every source, come last.
    """
    tests = [path for path in sources if is_test(path)]
    if graph is None:
        graph = used_by(sources, gone=[path for path in changed if path.endswith(".py") and path not in sources])
    best: dict[str, int] = {}
    silent = []
    for path in changed:
        found = distances(graph, _start(path, sources, tests))
        near = {test: NAMED if far and _mirrors(path, test) else far for test, far in found.items() if is_test(test) and test in sources}
        silent += [] if near else [path]
        for test, far in near.items():
            best[test] = min(far, best.get(test, far))
    rooms = {room for path in changed for room in PurePosixPath(path).parts[:-1]}
    order = sorted(best, key=lambda test: (best[test], -len(rooms & {*PurePosixPath(test).parts[1:-1]}), test))
    frame = [test for test in tests if test.startswith(FRAME_TESTS) and test not in best] if changed else []
    return [*((best[test], test) for test in order), *((FRAME, test) for test in frame)], silent


def _start(path: str, sources: Mapping[str, str], tests: Collection[str]) -> dict[str, int]:
    """Return the files at which the walk begins for one changed file, and their distances."""
    name = PurePosixPath(path)
    if name.name == "conftest.py":
        return dict.fromkeys((test for test in tests if test.startswith(f"{name.parent}/")), NAMED)
    if name.suffix == ".py" and name.parts[0] in (*ROOMS, "tests"):
        command = f'"{name.stem.replace("_", "-")}"' if path.startswith("emu/cli/") else None
        return {test: ROOM for test in tests if command and command in sources[test]} | {path: 0}
    found = {test: NAMED for test in tests if _names(sources[test], name)}
    if name.parts[0] == "spec":
        return found | {test: NAMED for test in tests if test.startswith("tests/spec/")}
    if path.startswith("emu/engines/native/kernels/"):
        return found | {file: NAMED for file in sources if file.startswith("emu/engines/native/")}
    if name.parts[0] == "c_ref":
        own = "tests/rtl/" if name.parts[1] == "dpi" else "tests/engines/c_ref/"
        binding = {file: ROOM for file in sources if file.startswith("emu/engines/c_ref/")}
        return (
            binding
            | {
                test: NAMED if any(word in PurePosixPath(test).stem for word in (name.stem, name.parent.name)) else ROOM
                for test in tests
                if test.startswith(own)
            }
            | found
        )
    if name.parts[0] in ROOMS:
        return _beside(name, sources) | found
    return found


def _mirrors(path: str, test: str) -> bool:
    """Whether a test has the name that tests of a module have: tests/<room>/test_<room>_<module>.py."""
    name, own = PurePosixPath(path), PurePosixPath(test)
    return own.parent.name in name.parts and own.stem.endswith(f"_{name.stem}")


def _beside(name: PurePosixPath, sources: Mapping[str, str]) -> dict[str, int]:
    """Return the modules of the nearest folder above a data file that has any."""
    for folder in name.parents:
        modules = [path for path in sources if PurePosixPath(path).parent == folder]
        if modules:
            return dict.fromkeys(modules, NAMED)
    return {}


def _names(text: str, name: PurePosixPath) -> bool:
    """Whether a source names a file: its name, or the id of an object of the spec or of a suite, as a word."""
    words = [name.name] + [name.stem] * (name.suffix in (".yaml", ".tv", ".desc") and len(name.stem) > 2)
    return any(re.search(rf"(?<![\w]){re.escape(word)}(?![\w])", text) for word in words if word in text)
