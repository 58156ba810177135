"""Small pieces of Markdown: tables, code, links between reference pages, blocks of text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence


def row(cells: Iterable[str]) -> str:
    """Return one line of a table; line breaks become blanks, bars are escaped."""
    return "| " + " | ".join(" ".join(cell.split()).replace("|", "\\|") for cell in cells) + " |"


def table(header: Sequence[str], rows: Iterable[Sequence[str]], numbers: Sequence[int] = ()) -> list[str]:
    """Return the lines of a table; numbers: the columns that are set to the right."""
    rule = ["---:" if column in numbers else "---" for column in range(len(header))]
    return [row(header), row(rule), *(row(cells) for cells in rows)]


def prose(*parts: str) -> str:
    """Return one paragraph from its parts, each with its own blanks."""
    return "".join(parts)


def code(text: str) -> str:
    """Return text in the fixed-width face."""
    return f"`{text}`"


def fence(lines: Iterable[str], language: str = "") -> list[str]:
    """Return lines as a block of fixed-width text."""
    return [f"```{language}", *(line.rstrip() for line in lines), "```"]


def link(kind: str, name: str, up: str = "../") -> str:
    """Return a link to the page of a spec object; up: the way from the page to docs/reference."""
    return f"[`{name}`]({up}{kind}/{name}.md)"


def anchor(heading: str) -> str:
    """Return the fragment that a viewer makes of a heading."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def plural(count: int, word: str) -> str:
    """Return `1 thing` or `2 things`."""
    return f"{count} {word}" + ("" if count == 1 else "s")
