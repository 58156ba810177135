"""The proposal as AsciiDoc parts for a RISC-V extension: one file a section and one that includes them. Not here: the words."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from markdown_it import MarkdownIt
from markdown_it.token import Token

from emu.base.errors import FileError

MAIN: Final = "uniform4.adoc"
LEFT_OUT: Final = ("11.1", "11.3")  # the encodings of other instruction sets
_SPECIAL: Final = re.compile(r"[*_^~`{}\[\]#+|<>\\]")
_TAG: Final = re.compile(r"^[A-Z]{2,3}-\d+$")
_NUMBER: Final = re.compile(r"([\d.]+?)\.? ")


def asciidoc_parts(page: str) -> dict[str, str]:
    """Return file name -> text: the main file, and a part for each section of the page."""
    tokens = MarkdownIt("commonmark", {"html": False}).enable("table").parse(re.sub(r"\A<!--.*?-->\n", "", page))
    sections = list(_sections(tokens))
    parts = {f"{_slug(heading)}.adoc": _text(body) for heading, body in sections[1:]}
    title, opening = sections[0]
    lines = [f"= {title}", ":doctype: article", ":sectanchors:", ":source-highlighter!:", "", _text(opening)]
    lines += [line for name in parts for line in (f"include::{name}[]", "")]
    return {MAIN: "\n".join(lines).rstrip() + "\n"} | parts


def _sections(tokens: Sequence[Token]) -> Iterator[tuple[str, list[Token]]]:
    """Return heading and tokens of each section, the title's first; encodings of other instruction sets are left out."""
    found: list[tuple[str, list[Token]]] = []
    skipping = False
    for at, token in enumerate(tokens):
        if token.type == "heading_open":
            text = tokens[at + 1].content
            number = _NUMBER.match(text)
            skipping = number is not None and number[1] in LEFT_OUT
            if token.tag in ("h1", "h2"):
                found.append((text, []))
        if not skipping:
            found[-1][1].append(token)
    yield found[0][0], found[0][1][3:]  # without the title itself
    yield from found[1:]


def _slug(heading: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", heading.partition(" ")[2].lower()).strip("-")


def _text(tokens: Sequence[Token]) -> str:
    """Return a run of tokens as AsciiDoc. Raises: FileError (a construct that no rule knows)."""
    out: list[str] = []
    for at, token in enumerate(tokens):
        kind, in_cell = token.type, at > 0 and tokens[at - 1].type in ("th_open", "td_open")
        if kind == "heading_open":
            out.append("\n" + "=" * int(token.tag[1]) + " ")
        elif kind == "inline":
            out.append(_inline(token.children or [], in_cell))
        elif kind == "fence":
            out.append(f"\n----\n{token.content.rstrip(chr(10))}\n----\n\n")
        elif kind == "paragraph_close":
            out.append("\n" if token.hidden else "\n\n")
        elif kind in _SIGNS:
            out.append(_SIGNS[kind])
        else:
            raise FileError(f"the page holds {kind}, which has no AsciiDoc here")
    return re.sub(r"\n{3,}", "\n\n", "".join(out)).strip() + "\n"


_SIGNS: Final = {
    "heading_close": "\n\n",
    "paragraph_open": "",
    "bullet_list_open": "",
    "list_item_open": "* ",
    "list_item_close": "",
    "bullet_list_close": "\n",
    "table_open": "\n[options=header]\n|===\n",
    "th_open": "|",
    "td_open": "|",
    "th_close": " ",
    "td_close": " ",
    "tr_close": "\n",
    "table_close": "|===\n\n",
    **dict.fromkeys(("thead_open", "thead_close", "tbody_open", "tbody_close", "tr_open"), ""),
}


def _inline(tokens: Sequence[Token], cell: bool) -> str:
    out, target = "", ""
    for token in tokens:
        if token.type == "text":
            out += f"[[{token.content.lower()}]]" * bool(out == "*" and _TAG.match(token.content)) + _escaped(token.content)
        elif token.type == "code_inline":
            out += f"`+{token.content.replace('|', chr(92) + '|') if cell else token.content}+`"
        elif token.type in ("strong_open", "strong_close"):
            out += "*"
        elif token.type in ("em_open", "em_close"):
            out += "_"
        elif token.type == "softbreak":
            out += " "
        elif token.type == "link_open":
            target = str(token.attrGet("href"))
            out += f"link:{target}[" if target.startswith("https://") else ""
        elif token.type == "link_close":
            out += "]" if target.startswith("https://") else ""
        else:
            raise FileError(f"the page holds {token.type}, which has no AsciiDoc here")
    return out


def _escaped(text: str) -> str:
    """Return text with the signs that AsciiDoc reads as markup as character references."""
    return _SPECIAL.sub(lambda found: f"&#{ord(found[0])};", text)
