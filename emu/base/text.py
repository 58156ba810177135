"""Text of strangers on its way out: titles, names of tensors and files, lines of logs. One function here for each thing that is written.

Markdown has its own, `marked` in emu/pages/render.py, and what an identifier may be is the business of the models.
Tests: tests/cli/test_cli_strangers.py, tests/pages/test_pages_strangers.py.
"""

from __future__ import annotations

import html
import json
import re
import shlex
from collections.abc import Iterable
from typing import Any, Final

# letters that nobody sees, or that let a line read otherwise than it is; a class of a regular expression, the same in every Python
UNSEEN: Final = (
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0"
    "\ufff9-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
_UNSEEN: Final = re.compile(f"[{UNSEEN}]")
_SIGNS: Final = (("\\", "/"), ("??/", "? ? /"), ("*/", "* /"), ("/*", "/ *"))


def _hidden(letter: str) -> bool:
    return not letter.isprintable() or bool(_UNSEEN.match(letter))


def visible(text: object) -> str:
    r"""Return a text as one line for a terminal: what moves the cursor, turns the direction or shows nothing stands as \x1b, \u202e, \n."""
    line = str(text)
    if line.isprintable() and not _UNSEEN.search(line):
        return line
    return "".join(letter.encode("unicode_escape").decode() if _hidden(letter) else letter for letter in line)


def visible_text(text: str) -> str:
    """Return a text of several lines for a terminal: its line breaks and tabs stay."""
    return "\n".join("\t".join(map(visible, line.split("\t"))) for line in text.split("\n"))


def readable(lines: Iterable[object]) -> str:
    """Return lines as a text to read, each made visible; a break inside of one is no break."""
    return "\n".join(map(visible, lines))


def json_text(value: Any) -> str:
    """Return indented JSON that a terminal may show: the same data, and no letter that moves or hides. NaN and Inf must be text or None."""
    text = json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False)
    if text.replace("\n", "").isprintable() and not _UNSEEN.search(text):
        return text
    return "".join(json.dumps(letter)[1:-1] if letter != "\n" and _hidden(letter) else letter for letter in text)


def in_comment(text: object) -> str:
    """Return a text that ends no comment of C, Verilog, SystemVerilog or VHDL, and continues none on the next line."""
    line = "".join(" " if _hidden(letter) else letter for letter in str(text))
    for sign, harmless in _SIGNS:
        line = line.replace(sign, harmless)
    return line


def in_html(text: object) -> str:
    """Return a text that opens no element of HTML or SVG and ends no attribute."""
    return html.escape(visible(text))


def in_script(value: object) -> str:
    """Return a value as JavaScript that ends and opens no element of the page around it."""
    return json.dumps(value).replace("<", "\\u003c")


def in_xml(text: str) -> str:
    """Return a text that XML can hold; tabs and breaks stay."""
    return "".join(letter if letter in "\n\t" else visible(letter) for letter in text)


def in_shell(text: object) -> str:
    """Return a text as one word of a shell (bash, ksh, zsh), for a line that is there to be copied; one that begins with - is a path."""
    given = f"./{text}" if str(text).startswith("-") else str(text)
    if visible(given) == given:
        return shlex.quote(given)
    return "$'" + "".join(map(_in_quotes, given)) + "'"


def _in_quotes(letter: str) -> str:
    """Return a letter as it stands between $' and '; a byte of a file's name that is no text stays that byte."""
    number = ord(letter)
    if _hidden(letter):
        return f"\\x{number & 255:02x}" if 0xDC80 <= number <= 0xDCFF else f"\\U{number:08x}"
    return "\\" + letter if letter in "\\'" else letter
