"""Counts lines of code per room: `python -m tools.lines [--tree REV]`; with `--long`, files and functions that grew long.

Python without blanks, comments, imports and docstrings; C without blanks and comments; templates, beside the code, without blanks.
A room is a folder or module of emu, or one of tools, research, tests, c_ref.
"""

from __future__ import annotations

import argparse
import ast
import io
import re
import subprocess
import sys
import tokenize
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath
from typing import Final

TOPS: Final = ("emu", "tools", "research", "tests", "c_ref")
KINDS: Final = {".py": "python", ".c": "c", ".h": "c", ".j2": "templates"}
_C_COMMENT: Final = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)
_DOCUMENTED: Final = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
_SILENT: Final = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENCODING, tokenize.ENDMARKER}


def python_lines(source: str) -> int:
    """Return the lines that hold code: no blanks, comments, imports, docstrings."""
    held: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type not in _SILENT:
            held.update(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import | ast.ImportFrom):
            held.difference_update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
        elif isinstance(node, _DOCUMENTED) and ast.get_docstring(node, clean=False) is not None:
            text = node.body[0]
            held.difference_update(range(text.lineno, (text.end_lineno or text.lineno) + 1))
    return len(held)


def lines_of(path: str, source: str) -> int:
    """Return the lines of code of a file: Python, C, or a template (all its lines that are not blank)."""
    if path.endswith(".py"):
        return python_lines(source)
    text = _C_COMMENT.sub("", source) if KINDS[PurePosixPath(path).suffix] == "c" else source
    return sum(bool(line.strip()) for line in text.splitlines())


def room_of(path: str) -> str:
    """Return the room of a file: emu/<folder or module>, or the name of the top folder."""
    parts = PurePosixPath(path).parts
    return f"emu/{parts[1].removesuffix('.py')}" if parts[0] == "emu" else parts[0]


def files(tree: str | None) -> Iterator[tuple[str, str]]:
    """Yield (path, text) of the files of a revision, or of the working tree (what git does not ignore)."""
    listing = ["git", "ls-tree", "-r", "--name-only", tree] if tree else ["git", "ls-files", "-co", "--exclude-standard"]
    for path in sorted(set(_git(listing).splitlines())):
        if path.split("/")[0] in TOPS and PurePosixPath(path).suffix in KINDS:
            try:
                yield path, _git(["git", "show", f"{tree}:{path}"]) if tree else Path(path).read_text(encoding="utf-8")
            except FileNotFoundError:  # deleted, and git does not know it yet
                continue


def _git(words: Sequence[str]) -> str:
    return subprocess.run(words, capture_output=True, check=True, encoding="utf-8").stdout


def count(tree: str | None = None) -> dict[str, Counter[str]]:
    """Return room -> kind of text -> lines. tree: a revision; None: the working tree."""
    found: dict[str, Counter[str]] = {}
    for path, source in files(tree):
        found.setdefault(room_of(path), Counter())[KINDS[PurePosixPath(path).suffix]] += lines_of(path, source)
    return found


def report(found: dict[str, Counter[str]]) -> str:
    """Return the counts as an aligned table: emu and its rooms, the other tops, everything."""
    tops = {top: sum((lines for room, lines in found.items() if room.split("/")[0] == top), Counter[str]()) for top in TOPS}
    rows = [(top, tops[top]) for top in TOPS] + [("all", sum(tops.values(), Counter[str]()))]
    rows[1:1] = [(f"  {room}", found[room]) for room in sorted(found) if room.startswith("emu/")]
    head = f"{'room':24}" + "".join(f"{kind:>11}" for kind in dict.fromkeys(KINDS.values()))
    lines = [f"{room:24}" + "".join(f"{lines[kind]:11,}" for kind in dict.fromkeys(KINDS.values())) for room, lines in rows]
    return "\n".join([head, *lines])


def body_lines(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Return the lines of a function without its decorators and docstring."""
    first, documented = function.body[0], ast.get_docstring(function, clean=False) is not None
    return (
        (function.end_lineno or function.lineno)
        - function.lineno
        + 1
        - ((first.end_lineno or first.lineno) - first.lineno + 1) * documented
    )


def long_parts(tree: str | None = None, module: int = 350, function: int = 40) -> list[str]:
    """Return a line for each Python file and function with more lines than are read at one sitting. Length is a hint, not a rule."""
    found: list[str] = []
    for path, source in files(tree):
        if not path.endswith(".py"):
            continue
        length = source.count("\n")
        found += [f"{path}: {length} lines"] if length > module else []
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and body_lines(node) > function:
                found.append(f"{path}:{node.lineno}: {node.name}: {body_lines(node)} lines")
    return found


def main(words: Sequence[str] | None = None) -> int:
    """Print the counts of the working tree, or of a revision; 2 where git knows no such revision."""
    parser = argparse.ArgumentParser(prog="python -m tools.lines", description=__doc__)
    parser.add_argument("--tree", metavar="REV", help="A revision; default: the working tree.")
    parser.add_argument("--long", action="store_true", help="List long files and functions instead.")
    given = parser.parse_args(words)
    try:
        print("\n".join(long_parts(given.tree)) if given.long else report(count(given.tree)))
    except subprocess.CalledProcessError as error:
        print(f"emu: tools.lines: {error.stderr.strip()}: run in the clone, name a revision", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
