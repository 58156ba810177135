"""Examples in hand-written text: what they print is compared with what the text says. Nothing is rewritten here.

Python: blocks ```python with >>> lines, run in order with shared names. Console: blocks ```console; `$ emu ...` runs, and the lines shown
must be the first that it prints.
"""

from __future__ import annotations

import doctest
import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

_NAMES = "chips grids how_it_works howto_kernel howto_study kernels layouts own_formats p3109 rtl tour"
TEXTS = ("README.md", *(f"docs/{name}.md" for name in _NAMES.split()))
SECONDS = 120
_BLOCK = re.compile(r"^```(python|console)\n(.*?)^```", re.DOTALL | re.MULTILINE)
_START = [sys.executable, "-P", "-c", "from emu.cli.main import main; main()"]


class Block(NamedTuple):
    """One block of code. line: of its first line, from 1."""

    language: str
    text: str
    line: int


def faults(root: Path, texts: Sequence[str] = TEXTS) -> list[str]:
    """Return one text per example of the hand-written files that prints something else: where, what it says, what it should say.

    root: a source tree.   texts: files below it.   A file that is missing, or holds no example, is a fault too.
    """
    found: list[str] = []
    for name in texts:
        try:
            text = (root / name).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError):
            found.append(f"{name}: missing, or no text: its examples are checked")
            continue
        blocks = list(blocks_of(text))
        if not blocks:
            found.append(f"{name}: no example in it: a block python or console was expected")
        found += _python(name, blocks)
        found += [fault for block in blocks if block.language == "console" for fault in _console(name, block)]
    return found


def blocks_of(text: str) -> Iterator[Block]:
    """Yield the python blocks that hold examples, and the console blocks."""
    for match in _BLOCK.finditer(text):
        if match[1] == "console" or ">>>" in match[2]:
            yield Block(match[1], match[2], text.count("\n", 0, match.start()) + 2)


class _Collector(doctest.DocTestRunner):
    """Keeps what differs instead of printing it."""

    def __init__(self) -> None:
        super().__init__(optionflags=doctest.ELLIPSIS)
        self.found: list[str] = []

    def report_failure(self, out: Any, test: doctest.DocTest, example: doctest.Example, got: str) -> None:
        """Keep one example that printed something else."""
        self.found.append(_fault(test.filename or "", (test.lineno or 0) + example.lineno, example.source, example.want, got))

    def report_unexpected_exception(self, out: Any, test: doctest.DocTest, example: doctest.Example, exc_info: Any) -> None:
        """Keep one example that raised."""
        got = "".join(
            ["Traceback (most recent call last):\n    ...\n", f"{exc_info[0].__module__}.{exc_info[0].__qualname__}: {exc_info[1]}\n"]
        )
        self.report_failure(out, test, example, got)


def _python(name: str, blocks: list[Block]) -> list[str]:
    """Run the python blocks one after another; a later one knows the names of the earlier."""
    runner, names = _Collector(), dict[str, Any]()
    for block in blocks:
        if block.language == "python":
            test = doctest.DocTestParser().get_doctest(block.text, names, name, name, block.line)
            test.globs = names  # the parser hands on a copy
            runner.run(test, clear_globs=False, out=lambda _text: None)
    return runner.found


def _console(name: str, block: Block) -> Iterator[str]:
    """Run each `$ emu ...` of a block."""
    line = block.line
    for piece in re.split(r"(?m)^(?=\$ )", block.text):
        if piece.startswith("$ "):
            command, _, wanted = piece[2:].partition("\n")
            got = _printed(command, len(wanted.splitlines()))
            if got.splitlines() != [text.rstrip() for text in wanted.splitlines()]:
                yield _fault(name, line, command, wanted, got)
        elif piece.strip():
            yield f"{name}:{line}: text before the first command: a console block starts with `$ emu`"
        line += piece.count("\n")


def _printed(command: str, lines: int) -> str:
    """Return the first lines that a command prints, without blanks at their ends; or what went wrong."""
    words = shlex.split(command)
    if not words or words[0] != "emu":
        return "(only commands of emu are run here)\n"
    environment = {key: value for key, value in os.environ.items() if key not in ("EMU_SPEC_PATH", "COLUMNS")}
    with tempfile.TemporaryDirectory() as folder:
        try:
            done = subprocess.run(
                [*_START, *words[1:]], cwd=folder, env=environment, capture_output=True, text=True, timeout=SECONDS, check=False
            )
        except subprocess.TimeoutExpired:
            return f"(nothing after {SECONDS} s)\n"
    if done.returncode not in (0, 1):  # 1: something differs, which is a result
        return f"(exit code {done.returncode}) {done.stderr.strip()}\n"
    return "\n".join(text.rstrip() for text in done.stdout.splitlines()[:lines])


def _fault(name: str, line: int, source: str, wanted: str, got: str) -> str:
    """Say which example differs; the text is written by hand, so the reader mends it."""
    rows = [f"{name}:{line}: an example prints something else; edit the text by hand", *(f"    {item}" for item in source.splitlines())]
    rows += ["  it says:", *(f"    {item}" for item in wanted.splitlines() or ["(nothing)"])]
    rows += ["  it should say:", *(f"    {item}" for item in got.splitlines() or ["(nothing)"])]
    return "\n".join(rows)
