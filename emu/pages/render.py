"""Templates and what they may ask: cells, tables, fenced text, links. Pages give typed data (Code, Ref), templates make Markdown of it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final, NamedTuple

from jinja2 import Environment, FileSystemLoader, StrictUndefined, pass_context
from jinja2.runtime import Context
from markupsafe import Markup

from emu.spec.models import PLURALS

TEMPLATES: Final = Path(__file__).parent / "templates"


Markdown = Markup  # text that is Markdown already; any other text is a stranger's, and opens no tag, link or picture


class Code(str):
    """Text that is shown in the fixed-width face."""

    __slots__ = ()


class Bold(str):
    """Text that is shown in bold."""

    __slots__ = ()


class Ref(NamedTuple):
    """A spec object that is shown as a link to its page."""

    kind: str
    name: str


class Function(NamedTuple):
    """A function of the exact engine, shown as a link to its source."""

    module: str
    name: str


class SourceRef(NamedTuple):
    """A document or code base of sources.yaml, shown as a link to what the page of sources says of it."""

    name: str


class Section(NamedTuple):
    """A section on the page of an object, shown as a link where the object has a page."""

    text: Any
    kind: str
    name: str
    heading: str


class Anchor(NamedTuple):
    """A heading of the same page, shown as a link to it."""

    text: str
    fragment: str


OPEN: Final = Bold("open")  # what nobody knows
_LIVE: Final = re.compile(r"<(?=[A-Za-z/!?])|(?<=\])(?=\()|^\s*(?=\[[^\]]*\]:)")  # tags, links, where a link leads to
_TICKS: Final = re.compile("`+")


@dataclass(frozen=True)
class Links:
    """Where names lead. up: the way from the page to docs/reference.

    own: None: every object has a page there; else the objects that have one, and everything else is a plain name.
    functions: the way from there to the source of the exact engine.
    """

    up: str = "../"
    own: frozenset[tuple[str, str]] | None = None
    functions: str = "reference_model/"

    def object(self, kind: str, name: str) -> Markdown:
        """Return the name of an object, linked where it has a page."""
        return Markdown(f"[`{name}`]({self.up}{kind}/{name}.md)" if self.own is None or (kind, name) in self.own else f"`{name}`")

    def page(self, text: str, target: str) -> Markdown:
        """Return text, linked to a page of the whole reference (target: seen from its folder) where there is one."""
        return Markdown(f"[{text}]({self.up}{target})" if self.own is None else text)

    def function(self, module: str, name: str) -> Markdown:
        """Return the name of a function of the exact engine, linked to its source where that has a page."""
        return self.page(f"`{module}.{name}`", f"{self.functions}{module}.md#{name.lower()}")


def joined(between: str, items: Iterable[Any]) -> tuple[Any, ...]:
    """Return the parts of items with a text between them."""
    return tuple(part for item in items for part in (between, item))[1:]


def marked(value: Any, links: Links) -> str:
    """Return a value as Markdown: Code, Bold, a Ref or another link; a list joined by commas; a tuple of parts without; else as text."""
    if isinstance(value, Ref):
        return links.object(*value)
    if isinstance(value, Function):
        return links.function(*value)
    if isinstance(value, SourceRef):
        return links.page(f"`{value.name}`", f"sources.md#{value.name}")
    if isinstance(value, Section):
        return f"[{value.text}]({links.up}{value.kind}/{value.name}.md#{value.heading})"
    if isinstance(value, Anchor):
        return f"[{value.text}](#{value.fragment})"
    if isinstance(value, Code):
        ticks = "`" * (1 + max(map(len, _TICKS.findall(value)), default=0))
        return f"{ticks}{value!s}{ticks}" if len(ticks) == 1 else f"{ticks} {value!s} {ticks}"
    if isinstance(value, list | tuple):
        return (", " if isinstance(value, list) else "").join(marked(item, links) for item in value)
    text = (
        str(value) if isinstance(value, Markdown) else _LIVE.sub(lambda found: "&lt;" if found[0] == "<" else found[0] + "\\", str(value))
    )
    return f"**{text}**" if isinstance(value, Bold) else text


def cell(value: Any, links: Links) -> Markdown:
    """Return a value as a cell of a table: line breaks become blanks, bars are escaped; None is empty."""
    return Markdown("" if value is None else " ".join(marked(value, links).split()).replace("|", "\\|"))


def table(header: Iterable[Any], rows: Iterable[Iterable[Any]], links: Links, numbers: Sequence[int] = ()) -> Markdown:
    """Return a table; numbers: the columns that are set to the right."""
    first: list[str] = [cell(value, links) for value in header]
    rule = ["---:" if column in numbers else "---" for column in range(len(first))]
    lines: list[list[str]] = [first, rule, *([str(cell(value, links)) for value in row] for row in rows)]
    return Markdown("\n".join("| " + " | ".join(cells) + " |" for cells in lines))


def fence(lines: Iterable[str], language: str = "") -> Markdown:
    """Return lines as a block of fixed-width text."""
    return Markdown("\n".join([f"```{language}", *(line.rstrip() for line in lines), "```"]))


def plural(count: int, word: str) -> str:
    """Return `1 thing` or `2 things`."""
    return f"{count} {word if count == 1 else PLURALS.get(word, f'{word}s')}"


@pass_context
def _table(context: Context, header: Iterable[Any], rows: Iterable[Iterable[Any]], numbers: Sequence[int] = ()) -> Markdown:
    return table(header, rows, context["links"], numbers)


@pass_context
def _folded(context: Context, what: str, header: Iterable[Any], rows: Iterable[Iterable[Any]], numbers: Sequence[int] = ()) -> Markdown:
    return Markdown(f"<details>\n<summary>{what}</summary>\n\n{_table(context, header, rows, numbers)}\n\n</details>")


@pass_context
def _finalize(context: Context, value: Any) -> Markdown:
    return Markdown(marked(value, context["links"]))


@cache
def environment(*folders: Path) -> Environment:
    """Return the environment of templates in folders; those of this package are found behind them."""
    made = Environment(
        loader=FileSystemLoader([*folders, TEMPLATES]),
        undefined=StrictUndefined,
        autoescape=True,  # what a macro returns is Markdown too; `_finalize` escapes all else
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        finalize=_finalize,
    )
    made.globals |= {"table": _table, "folded": _folded, "fence": fence, "plural": plural, "Ref": Ref, "Code": Code}
    return made


def render(template: str, links: Links | None = None, folder: Path | None = None, /, **data: Any) -> str:
    """Return the text of a template (of this package, or of a folder) with data; an unknown name is an error (jinja2.UndefinedError)."""
    found = environment(*([folder] if folder else ())).get_template(f"{template}.md.j2")
    return found.render(**data, links=links or Links())
