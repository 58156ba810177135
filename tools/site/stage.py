"""The pages of the site as the generator reads them: copied, links turned, long tables folded. Not here: conformance.py.

The Markdown of the repository follows the rules of GitHub. Where the generator reads it otherwise, it is changed: headings get the
names that GitHub gives them, lists and tables get the empty line before them, what is folded on a page is read as Markdown.
"""

from __future__ import annotations

import os
import re
import shutil
from collections import deque
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Final

from emu.base.errors import FileError

DOCS: Final = PurePosixPath("docs")
OUTSIDE: Final = PurePosixPath("repository")  # where the site keeps what docs/ links to and does not hold
TABLE_ROWS: Final = 24  # a longer table is folded
SHOWN_AS_TEXT: Final = (".yaml", ".py", ".sv", ".v", ".c", ".h", ".tv", ".cff")  # with .txt behind its name a browser shows such a file
_LINK: Final = re.compile(r"(!?\[(?:[^\[\]]|\[[^\]]*\])*\])\(([^()\s]+(?:\([^()\s]*\)[^()\s]*)?)\)")
_CODE: Final = re.compile(r"(`+)(?:(?!\1).)+?\1(?!`)")
_SEPARATOR: Final = re.compile(r"^\|?\s*:?-{3,}:?\s*(\|\s*:?-{3,}:?\s*)*\|?\s*$")
_ITEM: Final = re.compile(r"^([-*]|\d+\.) ")


def staged(root: Path, folder: Path) -> list[str]:
    """Write the pages and figures of the tree at `root`, and what they link to, below `folder`; return the paths of the pages, sorted.

    Raises: FileError (a page links to a file that is not there).   Tests: tests/site/test_site_stage.py.
    """
    todo = deque(PurePosixPath(path.relative_to(root).as_posix()) for path in sorted((root / DOCS).rglob("*.md")))
    todo.extend(PurePosixPath(name) for name in ("README.md", "CHANGELOG.md"))
    done: set[PurePosixPath] = set()
    pages = []
    while todo:
        source = todo.popleft()
        if source in done:
            continue
        done.add(source)
        target = folder / place(source)
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.suffix != ".md":
            shutil.copyfile(root / source, target)
            continue
        text, linked = readable((root / source).read_text(encoding="utf-8"), source, root)
        todo.extend(linked)
        target.write_text(text, encoding="utf-8")
        pages.append(place(source).as_posix())
    return sorted(pages)


def place(source: PurePosixPath) -> PurePosixPath:
    """Return where a file of the repository lies in the site."""
    if source.is_relative_to(DOCS) and source.suffix in (".md", ".svg"):
        return source.relative_to(DOCS)
    shown = source.with_name(source.name + ".txt") if source.suffix in SHOWN_AS_TEXT else source
    return OUTSIDE / shown


def readable(text: str, source: PurePosixPath, root: Path) -> tuple[str, list[PurePosixPath]]:
    """Return a page in the words of the generator, and the files of the repository that it links to.

    Raises: FileError (a link to no file).
    """
    linked: list[PurePosixPath] = []
    names: dict[str, int] = {}
    out: list[str] = []
    lines = text.split("\n")
    number = within = 0
    while number < len(lines):
        line = lines[number]
        block = code_block(lines, number)
        if block:
            out += block
            number += len(block)
            continue
        rows = table_at(lines, number)
        if rows:
            made = [_links(row, source, root, linked) for row in rows]
            out += [""] if out and out[-1].strip() else []
            out += folded(made) if len(rows) - 2 > TABLE_ROWS and not within else made
            number += len(rows)
            continue
        if _ITEM.match(line) and out and out[-1].strip() and not _ITEM.match(out[-1]) and not _within_item(out):
            out.append("")
        within += {"<details>": 1, "</details>": -1}.get(line, 0)
        line = '<details markdown="1">' if line == "<details>" else _links(line, source, root, linked)
        out.append(named(line, names) if line.startswith("#") else line)
        number += 1
    return "\n".join(out), linked


def code_block(lines: list[str], number: int) -> list[str]:
    """Return the fenced lines that begin at `number`, or none. Raises: FileError (a fence without an end)."""
    fence = re.match(r"^(`{3,})", lines[number])
    if not fence:
        return []
    for last in range(number + 1, len(lines)):
        if lines[last].rstrip() == fence[1]:
            return lines[number : last + 1]
    raise FileError(f"line {number + 1}: a fence {fence[1]} without its end")


def table_at(lines: list[str], number: int) -> list[str]:
    """Return the lines of the table that begins at `number`: its head, its separator and its rows; none where there is no table."""
    if "|" not in lines[number] or number + 1 == len(lines) or "|" not in lines[number + 1] or not _SEPARATOR.match(lines[number + 1]):
        return []
    last = number + 2
    while last < len(lines) and "|" in lines[last] and lines[last].strip():
        last += 1
    return lines[number:last]


def folded(table: list[str]) -> list[str]:
    """Return a table behind one line that opens it."""
    return [f'??? abstract "Table of {len(table) - 2} rows"', "", *("    " + row for row in table), ""]


def named(heading: str, names: dict[str, int]) -> str:
    """Return a heading with the name that GitHub gives it. names: those of the page so far, with their counts; changed here."""
    words = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading.lstrip("#").strip())
    slug = re.sub(r"[^\w\- ]", "", words.lower()).replace(" ", "-")
    count = names.get(slug, 0)
    names[slug] = count + 1
    return f"{heading} {{#{slug}{f'-{count}' if count else ''}}}"


def _within_item(out: list[str]) -> bool:
    """Say whether the last line continues an item of a list."""
    for line in reversed(out):
        if not line.strip():
            return False
        if _ITEM.match(line):
            return True
    return False


def _links(line: str, source: PurePosixPath, root: Path, linked: list[PurePosixPath]) -> str:
    """Return a line whose links go to places of the site; add the files to `linked`. Code is left alone."""
    return "".join(part if is_code else _LINK.sub(lambda found: _link(found, source, root, linked), part) for is_code, part in _parts(line))


def _parts(line: str) -> Iterator[tuple[bool, str]]:
    """Cut a line at its code spans, but keep those that stand within the text of a link."""
    spans = [found.span() for found in _CODE.finditer(line)]
    links = [found.span(1) for found in _LINK.finditer(line)]
    begin = 0
    for start, end in spans:
        if any(left <= start and end <= right for left, right in links):
            continue
        yield False, line[begin:start]
        yield True, line[start:end]
        begin = end
    yield False, line[begin:]


def _link(found: re.Match[str], source: PurePosixPath, root: Path, linked: list[PurePosixPath]) -> str:
    path, mark, anchor = found[2].partition("#")
    if not path or "://" in path or path.startswith("mailto:"):
        return found[0]
    target = PurePosixPath(os.path.normpath(source.parent / path))
    if (root / target).is_dir():
        target /= "README.md"
        if not (root / target).is_file():
            return found[1].removeprefix("[").removesuffix("]")  # a folder that has no page of its own
    if not (root / target).is_file():
        raise FileError(f"{source}: links to {found[2]}, which is not there")
    linked.append(target)
    return f"{found[1]}({os.path.relpath(place(target), place(source).parent)}{mark}{anchor})"
