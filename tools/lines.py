"""Counts lines of code and tokens per room: `python -m tools.lines [--tree REV]`; with `--long`, files and functions that grew long.

Lines: of Python without blanks, comments, imports and docstrings; of C and JavaScript without blanks and comments; of templates and YAML
without blanks. Tokens: names, numbers, operators, and strings as one each; no comment, no docstring; line ends and indents are none.
A room is a folder or module of emu, or one of tools, research, tests, c_ref; templates, JavaScript, YAML lie beside them. Generated files
are not counted. `--budget` prints the table `[tool.emu.budget]` of pyproject.toml for the tree as it stands.
"""

from __future__ import annotations

import argparse
import ast
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Final, NamedTuple

TOPS: Final = ("emu", "tools", "research", "tests", "c_ref")
KINDS: Final = {".py": "python", ".c": "c", ".h": "c", ".j2": "templates", ".js": "javascript", ".yaml": "yaml"}
OF_ROOMS: Final = ("python", "c")  # the budget of a room is that of these; the others have one each
GENERATED: Final = "Do not edit."  # in the head of a file
MORE: Final = 300  # lines that a budget leaves
_OPERATORS: Final = r"[*/<>]{2}=?|\.{3}|->|:=|[-+*/%&|^@=<>!]=|&&|\|\||[^\w\s]"
_NUMBER_OR_NAME: Final = r"(?:\d[\w.]*?[eE][-+]\d+|\d[\w.]*|\w+)"
_LINE_STRINGS: Final = r'"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)*\''
_PYTHON: Final = re.compile(
    r"(?P<end>\n)|[ \t\f\r]+|\\\r?\n|\#[^\n]*"
    rf"|(?P<string>[rRbBuUfF]{{0,2}}(?:\"{{3}}(?:[^\\]|\\.)*?\"{{3}}|'{{3}}(?:[^\\]|\\.)*?'{{3}}|{_LINE_STRINGS}))|(?P<token>{_NUMBER_OR_NAME}|{_OPERATORS})",
    re.DOTALL,
)
_C: Final = re.compile(rf"/\*.*?\*/|//[^\n]*|(?P<token>{_LINE_STRINGS}|{_NUMBER_OR_NAME}|{_OPERATORS})", re.DOTALL)
_OTHER: Final = {
    "templates": re.compile(r"\{\#.*?\#\}|(?P<token>\w+|[^\w\s])", re.DOTALL),
    "yaml": re.compile(r"(?:(?<=\s)|(?<![^\n]))\#[^\n]*|(?P<token>\w+|[^\w\s])"),
}
_C_COMMENT: Final = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)


class Size(NamedTuple):
    """Of a text or a room."""

    lines: int
    tokens: int


def python_size(source: str) -> Size:
    """Return the lines that hold code (no blanks, comments, imports, docstrings) and the tokens without docstrings."""
    held: set[int] = set()
    statement: list[tuple[str, int, int]] = []  # token or "" for a string, first and last line
    depth, line, tokens = 0, 1, 0
    for match in _PYTHON.finditer(source + "\n"):
        text, kind = match[0], match.lastgroup
        last = line + text.count("\n")
        if kind == "token" or kind == "string":
            statement.append((text if kind == "token" else "", line, last))
            depth += (text in "([{") - (text in ")]}") if kind == "token" else 0
        if statement and depth == 0 and (kind == "end" or text == ";"):
            words = [word for word, _, _ in statement if word != ";"]
            documents = words == [""]
            tokens += len(words) * (not documents)
            if not documents and words[0] not in ("import", "from"):
                for _, begin, end in statement:
                    held.update(range(begin, end + 1))
            statement = []
        line = last
    return Size(len(held), tokens)


def size_of(path: str, source: str) -> Size:
    """Return the lines of code and the tokens of a file of one of KINDS."""
    kind = KINDS[PurePosixPath(path).suffix]
    if kind == "python":
        return python_size(source)
    if kind in _OTHER:
        return Size(sum(bool(line.strip()) for line in source.splitlines()), _tokens(_OTHER[kind], source))
    return Size(sum(bool(line.strip()) for line in _C_COMMENT.sub("", source).splitlines()), _tokens(_C, source))


def _tokens(pattern: re.Pattern[str], source: str) -> int:
    return sum(match.lastgroup is not None for match in pattern.finditer(source))


def room_of(path: str) -> str:
    """Return the room of a file: emu/<folder or module>, or the name of the top folder."""
    parts = PurePosixPath(path).parts
    return f"emu/{parts[1].removesuffix('.py')}" if parts[0] == "emu" else parts[0]


def files(tree: str | None) -> Iterator[tuple[str, str]]:
    """Yield (path, text) of the files of a revision, or of the working tree (what git does not ignore), but for generated ones."""
    listing = ["git", "ls-tree", "-r", "--name-only", tree] if tree else ["git", "ls-files", "-co", "--exclude-standard"]
    for path in sorted(set(_git(listing).splitlines())):
        if path.split("/")[0] in TOPS and PurePosixPath(path).suffix in KINDS:
            try:
                text = _git(["git", "show", f"{tree}:{path}"]) if tree else Path(path).read_text(encoding="utf-8")
            except FileNotFoundError:  # deleted, and git does not know it yet
                continue
            if GENERATED not in text[:200]:
                yield path, text


def _git(words: Sequence[str]) -> str:
    return subprocess.run(words, capture_output=True, check=True, encoding="utf-8").stdout


def count(tree: str | None = None) -> dict[str, dict[str, Size]]:
    """Return room -> kind of text -> size. tree: a revision; None: the working tree."""
    found: dict[str, dict[str, Size]] = {}
    for path, source in files(tree):
        room, kind = found.setdefault(room_of(path), {}), KINDS[PurePosixPath(path).suffix]
        room[kind] = _sum([room.get(kind, Size(0, 0)), size_of(path, source)])
    return found


def _sum(sizes: Sequence[Size]) -> Size:
    return Size(sum(size.lines for size in sizes), sum(size.tokens for size in sizes))


def report(found: Mapping[str, Mapping[str, Size]]) -> str:
    """Return the counts as an aligned table: emu and its rooms, the other tops, everything; lines of each kind, tokens of all."""
    kinds = [*dict.fromkeys(KINDS.values())]
    rows = [(top, [sizes for room, sizes in found.items() if room.split("/")[0] == top]) for top in TOPS]
    rows.append(("all", [*found.values()]))
    rows[1:1] = [(f"  {room}", [found[room]]) for room in sorted(found) if room.startswith("emu/")]
    lines = [f"{'room':24}" + "".join(f"{kind:>11}" for kind in [*kinds, "tokens"])]
    for name, rooms in rows:
        figures = [sum(sizes[kind].lines for sizes in rooms if kind in sizes) for kind in kinds]
        figures.append(sum(size.tokens for sizes in rooms for size in sizes.values()))
        lines.append(f"{name:24}" + "".join(f"{figure:11,}" for figure in figures))
    return "\n".join(lines)


def measured(found: Mapping[str, Mapping[str, Size]]) -> dict[str, Size]:
    """Return what budgets bound: each room with its Python and C, and each other kind of text, wherever it lies."""
    sizes = {room: _sum([size for kind, size in found[room].items() if kind in OF_ROOMS]) for room in sorted(found)}
    others = [kind for kind in dict.fromkeys(KINDS.values()) if kind not in OF_ROOMS]
    sizes |= {kind: _sum([kinds[kind] for kinds in found.values() if kind in kinds]) for kind in others}
    return {name: size for name, size in sizes.items() if size.lines}


def budget(sizes: Mapping[str, Size], more: int = MORE) -> str:
    """Return the table of budgets as TOML: each size with so many lines more, and tokens as those lines have them on average."""
    rows = ((name, size.lines + more, size.tokens + more * -(-size.tokens // size.lines)) for name, size in sizes.items())
    return "\n".join(["[tool.emu.budget]", *(f'"{name}" = {{ lines = {lines}, tokens = {tokens} }}' for name, lines, tokens in rows)])


def over(sizes: Mapping[str, Size], budgets: Mapping[str, Mapping[str, int]]) -> list[str]:
    """Return a line for each room that has outgrown its budget, that has none, and for each budget of no room."""
    found = [f"{name}: has no budget" for name in sizes if name not in budgets]
    found += [f"{name}: has a budget and nothing in it" for name in budgets if name not in sizes]
    for name, size in sizes.items():
        for what, have in size._asdict().items():
            if name in budgets and have > budgets[name][what]:
                found.append(f"{name}: {have} {what}, its budget is {budgets[name][what]}")
    return found


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
    parser = argparse.ArgumentParser(
        prog="python -m tools.lines", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--tree", metavar="REV", help="A revision; default: the working tree.")
    parser.add_argument("--long", action="store_true", help="List long files and functions instead.")
    parser.add_argument("--budget", action="store_true", help=f"Print the table of budgets instead: what stands, and {MORE} lines more.")
    given = parser.parse_args(words)
    try:
        if given.budget:
            print(budget(measured(count(given.tree))))
            return 0
        print("\n".join(long_parts(given.tree)) if given.long else report(count(given.tree)))
    except subprocess.CalledProcessError as error:
        print(f"emu: tools.lines: {error.stderr.strip()}: run in the clone, name a revision", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
