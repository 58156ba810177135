"""Which tests reach a mutant: a copy of the clone with marks in its sources, one recorded run of the tests there, and the choice.

Marks of Python: the first statement of every block and every lambda; of C: that of every function. A recorded run that was stopped goes on;
it holds for one state of the clone. Seen are programs too that tests start, but those without this environment.
"""

from __future__ import annotations

import ast
import json
import marshal
import os
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import zip_longest
from pathlib import Path
from shutil import copy
from typing import Any, Final, NamedTuple

from emu.base.errors import FileError
from tools.blind import marks
from tools.blind.build import EXTENSIONS, Library
from tools.blind.judge import Bench, new_place
from tools.processes import output_of

_LONGEST: Final = 6 * 3600.0  # seconds
POINTER: Final = "emu_reached"
_DECLARED: Final = f'extern __attribute__((visibility("hidden"))) unsigned char *{POINTER};'
_SITE: Final = f"""import os
if {marks.FOLDER!r} in os.environ:
    from emu_blind import marks
    marks.begin()
    marks.load_marked()
"""
_UNIT: Final = """#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
static unsigned char none[SIZE];
__attribute__((visibility("hidden"))) unsigned char *emu_reached = none;
__attribute__((constructor)) static void begin(void) {
    const char *path = getenv("HITS");
    int file = path ? open(path, O_RDWR) : -1;
    void *map = file < 0 ? MAP_FAILED : mmap(0, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (map != MAP_FAILED) emu_reached = map;
    if (file >= 0) close(file);
}
"""


class Block(NamedTuple):
    """What one mark stands for: lines of a file, or a part of one line."""

    file: str
    first: int
    last: int
    is_part: bool


class _Marked(ast.NodeTransformer):
    """Puts a mark into every block of a file."""

    def __init__(self, file: str, blocks: list[Block]) -> None:
        self.file, self.blocks = file, blocks

    def generic_visit(self, node: ast.AST) -> ast.AST:
        super().generic_visit(node)
        if not isinstance(node, ast.Module | ast.ClassDef):
            for name in ("body", "orelse", "finalbody"):
                body = getattr(node, name, None)
                if isinstance(body, list) and body:
                    body.insert(int(name == "body" and _is_text(body[0])), self._mark(body[0], body[-1]))
        return node

    def visit_Lambda(self, node: ast.Lambda) -> ast.Lambda:
        super().generic_visit(node)
        number = self._number(node.body, node.body, True)
        call = _placed(ast.parse(f"({marks.NAME}.__setitem__({number}, 1), 0)[1]", mode="eval").body, node.body)
        call.value.elts[1] = node.body
        node.body = call
        return node

    def _mark(self, first: Any, last: Any) -> Any:
        return _placed(ast.parse(f"{marks.NAME}[{self._number(first, last, False)}] = 1").body[0], first)

    def _number(self, first: Any, last: Any, is_part: bool) -> int:
        self.blocks.append(Block(self.file, first.lineno, last.end_lineno, is_part))
        return len(self.blocks) - 1


def _is_text(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def _placed(made: Any, at: Any) -> Any:
    for node in ast.walk(made):
        ast.copy_location(node, at)
    return made


def marked_python(source: str, file: str, blocks: list[Block]) -> ast.Module:
    """Return the tree of a source with its marks, which are added to blocks."""
    tree = _Marked(file, blocks).visit(ast.parse(source))
    assert isinstance(tree, ast.Module)
    return ast.fix_missing_locations(tree)


def marked_c(source: bytes, file: str, blocks: list[Block]) -> bytes:
    """Return a C source with a mark in each function; they are added to blocks. Raises: ImportError (no tree-sitter)."""
    import tree_sitter_c
    from tree_sitter import Language, Parser

    nodes, places = [Parser(Language(tree_sitter_c.language())).parse(source).root_node], []
    while nodes:
        node = nodes.pop()
        body = node.child_by_field_name("body") if node.type == "function_definition" else None
        if body is not None:
            places.append((body.start_byte, node.start_point[0] + 1, node.end_point[0] + 1))
        else:
            nodes += node.children
    for start, first, last in sorted(places, reverse=True):
        source = source[: start + 1] + f" {POINTER}[{len(blocks)}] = 1; ".encode() + source[start + 1 :]
        blocks.append(Block(file, first, last, False))
    return _DECLARED.encode() + source


class Reached:
    """What a recorded run says."""

    def __init__(self, folder: Path) -> None:
        """folder: as recorded made it."""
        self.blocks = [Block(*each) for each in json.loads((folder / "blocks.json").read_text(encoding="utf-8"))]
        self.tests = marks.done(folder)

    def tests_of(self, file: str, line: int) -> list[str]:
        """Return the tests that reach a line: of each test function the fastest case, then the next of each, and so on.

        Those that reach a part of the line come before those of the rest of it. Of several blocks the innermost counts. None: no test
        reaches it, or it is not in a block.
        """
        own = [(number, block) for number, block in enumerate(self.blocks) if block.file == file and block.first <= line <= block.last]
        whole = min((each for each in own if not each[1].is_part), key=lambda each: each[1].last - each[1].first, default=None)
        inner = sum(1 << number for number, block in own if block.is_part)
        outer = 0 if whole is None else 1 << whole[0]
        found = {test: (not reached & inner, seconds) for test, (seconds, reached) in self.tests.items() if reached & (inner | outer)}
        order, cases = sorted(found, key=lambda test: (found[test], test)), Counter[str]()
        turns: dict[str, int] = {}
        for test in order:
            function = test.partition("[")[0]
            turns[test] = cases[function]
            cases[function] += 1
        return sorted(order, key=lambda test: (found[test][0], turns[test]))

    def of_files(self, files: Sequence[str]) -> list[str]:
        """Return the tests of test files, in the order of those, of each the fastest first."""
        rank = {file: number for number, file in enumerate(files)}
        own = [test for test in self.tests if test.partition("::")[0] in rank]
        return sorted(own, key=lambda test: (rank[test.partition("::")[0]], self.tests[test][0], test))

    def within(self, tests: Sequence[str], count: int, seconds: float) -> tuple[tuple[str, float], ...]:
        """Return the first tests that stay within both, each with its seconds; one at least."""
        found: list[tuple[str, float]] = []
        left = seconds
        for test in tests:
            left -= self.tests[test][0]
            if found and (left < 0 or len(found) == count):
                break
            found.append((test, self.tests[test][0]))
        return tuple(found)


def in_turn(tests: Sequence[str], files: Sequence[str]) -> list[str]:
    """Return tests, one of some files and one of the others in turn: the fastest of all are often far from what they reach."""
    own = [test for test in tests if test.partition("::")[0] in files]
    rest = [test for test in tests if test.partition("::")[0] not in files]
    return [test for pair in zip_longest(own, rest) for test in pair if test is not None]


def recorded(root: Path, folder: Path, rooms: Sequence[str], jobs: int, exhaustive: bool) -> Reached:
    """Run the tests of a clone, in a copy with marks, and record what they reach; what the folder has already is not run again.

    rooms: the folders whose sources get marks, and those of the compiled extensions.   jobs: tests at a time.
    Raises: FileError (no test passes there).
    """
    complete = folder / ("exhaustive" if exhaustive else "default")
    if complete.exists() or (folder / "exhaustive").exists():
        return Reached(folder)
    print("recording which tests reach what", flush=True)
    place = Bench(root, new_place()).place
    (folder / "code").mkdir(parents=True, exist_ok=True)
    package = folder / "site" / "emu_blind"
    package.mkdir(parents=True, exist_ok=True)
    for name in ("__init__.py", "marks.py", "recorder.py"):
        copy(Path(__file__).parent / name, package / name)
    (folder / "site" / "sitecustomize.py").write_text(_SITE, encoding="utf-8")
    (folder / "root").write_text(str(place), encoding="utf-8")
    _mark(place, folder, sorted({file for room in (*rooms, *EXTENSIONS) for file in _sources(place, room)}))
    path = os.pathsep.join([str(place), str(folder / "site"), *os.environ.get("PYTHONPATH", "").split(os.pathsep)]).rstrip(os.pathsep)
    environment = os.environ | {"PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1", marks.FOLDER: str(folder)}
    words = ["-q", "-p", "no:cacheprovider", "-p", "emu_blind.recorder", *["-n", str(jobs)] * (jobs > 1)]
    command = [sys.executable, "-P", "-m", "pytest", *words, *["-m", "not mutants"] * exhaustive]
    code, said = output_of(command, place, _LONGEST, environment)
    for hits in folder.glob("hits.*"):
        hits.unlink()
    (folder / "said.txt").write_text(said, encoding="utf-8")
    found = Reached(folder)
    if not found.tests:
        raise FileError(f"no test could be recorded ({code}): {said.strip()[-300:]}")
    print(f"recorded: {said.strip().splitlines()[-1]}; what did not pass with marks is asked of no mutant", flush=True)
    if code not in (0, 1):
        raise FileError(f"{folder / 'said.txt'}: the recorded run ended early ({code}): give the command again, it goes on")
    complete.touch()
    return found


def _sources(place: Path, room: str) -> Iterator[str]:
    return (path.relative_to(place).as_posix() for suffix in (".py", ".c") for path in (place / room).rglob(f"*{suffix}"))


def _mark(place: Path, folder: Path, files: Sequence[str]) -> None:
    """Put marks into the extensions of the copy, and write the code of Python with marks into the folder."""
    blocks: list[Block] = []
    texts: dict[str, bytes] = {}
    for file in files:
        source = (place / file).read_bytes()
        if file.endswith(".c"):
            texts[file] = marked_c(source, file, blocks)
        else:
            code = compile(marked_python(source.decode(), file, blocks), str(place / file), "exec", dont_inherit=True)
            (folder / "code" / file.replace("/", "%")).write_bytes(marshal.dumps(code))
    (folder / "none").write_bytes(bytes(len(blocks)))
    (folder / "blocks.json").write_text(json.dumps(blocks), encoding="utf-8")
    unit = folder / "unit.c"
    unit.write_text(_UNIT.replace("SIZE", str(len(blocks))).replace("HITS", marks.HITS), encoding="utf-8")
    for number, extension in enumerate(EXTENSIONS):
        own = {file: text for file, text in texts.items() if file.startswith(extension)}
        if own:
            Library(place, place / "out" / "marked" / str(number), extension, own, unit)
