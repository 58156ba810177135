"""Damage to files: bytes changed, cut, doubled and swapped, lines and words replaced by what a parser trips over."""

import json
import re
from collections.abc import Sequence
from typing import TypeVar

import numpy as np

Item = TypeVar("Item")

WORDS = (
    *("", "-1", "0", "1e999", "-0.0", "NaN", "Infinity", "null", "true", "~", "[]", "{}", "[[[[", "}}}}", '"', "'", "0x", "0b2", "1_000"),
    *("9" * 5000, "-" + "9" * 400, "1" + "0" * 30, "18446744073709551616", "2147483648", "0." + "1" * 400),
    *("\x00", "\t", "\r\n", "\u00e9\u4e16", "\U0001f600", "%s%n", "../../etc/passwd", "a" * 3000, "&a [*a]", "*b", "!!python/object:os {}"),
    *("?", ":", "- -", "|", ">", "#", "<<: *x", "[" * 2000, "{" * 2000, "--- !x", "%YAML 9.9", "$(rm)", "{{ x }}", ",,,", "//"),
)
VALUES = (None, True, -1, 0, 2**63, 10**400, 1.5, "", "9" * 3000, "e2m1", [], {}, [[]], {"": {}}, [None] * 300)


def picked(choices: Sequence[Item], draw: np.random.Generator) -> Item:
    """Return one of the choices."""
    return choices[int(draw.integers(len(choices)))]


def bytes_changed(data: bytes, draw: np.random.Generator) -> bytes:
    """Return `data` with some bytes changed, mostly near its start, where headers are, or with a part cut, doubled or swapped."""
    found = bytearray(data)
    for _ in range(draw.integers(1, 5)):
        reach = len(found) if draw.random() < 0.4 else min(200, len(found))
        if not reach:
            break
        at = int(draw.integers(reach))
        match int(draw.integers(8)):
            case 0 | 1 | 2:
                found[at] ^= 1 << int(draw.integers(8))
            case 3 | 4:
                found[at] = picked((0, 1, 0x7F, 0x80, 0xFF, int(draw.integers(256))), draw)
            case 5:
                del found[at:]
            case 6:
                del found[at : at + int(draw.integers(1, 17))]
            case _:
                found[at:at] = found[at : at + int(draw.integers(1, 65))]
    return bytes(found)


def text_changed(data: bytes, draw: np.random.Generator) -> bytes:
    """Return `data` with words replaced by WORDS, and lines dropped, doubled, moved or indented."""
    lines = data.decode().splitlines(keepends=True)
    for _ in range(draw.integers(1, 4)):
        if not lines:
            break
        at = int(draw.integers(len(lines)))
        match int(draw.integers(8)):
            case 0:
                del lines[at]
            case 1:
                lines.insert(at, lines[int(draw.integers(len(lines)))])
            case 2:
                lines[at] = picked((" ", "  ", "\t", ""), draw) + lines[at].lstrip()
            case 3:
                other = int(draw.integers(len(lines)))
                lines[at], lines[other] = lines[other], lines[at]
            case _:
                spans = [found.span() for found in re.finditer(r"[\w.+-]+", lines[at])]
                if spans:
                    begin, end = picked(spans, draw)
                    lines[at] = lines[at][:begin] + picked(WORDS, draw) + lines[at][end:]
    return "".join(lines).encode("utf-8", "surrogatepass")


def json_changed(data: bytes, draw: np.random.Generator) -> bytes:
    """Return the JSON text `data` with one value or name in it replaced, dropped or doubled."""
    document = json.loads(data)
    places = list(_places(document))
    if not places:
        return picked(WORDS, draw).encode("utf-8", "surrogatepass")
    holder, key = picked(places, draw)
    match int(draw.integers(6)):
        case 0:
            del holder[key]
        case 1:
            holder[key] = picked(places, draw)[0]  # a part of the document, perhaps one that holds this place
        case 2 if isinstance(holder, dict):
            holder[picked(("", "x", f"{key} ", "9" * 400), draw)] = holder.pop(key)
        case _:
            holder[key] = picked(VALUES, draw)
    try:
        return json.dumps(document).encode()
    except ValueError:  # it holds itself
        return b"{"


def damaged(data: bytes, draw: np.random.Generator) -> bytes:
    """Return other bytes than `data`: damage of one of the ways that its content allows."""
    ways = [bytes_changed]
    try:
        data.decode()
        ways += [text_changed] * 4
        json.loads(data)
        ways += [json_changed] * 6
    except (UnicodeDecodeError, ValueError):
        pass
    while (found := picked(ways, draw)(data, draw)) == data:
        pass
    return found


def _places(node: object) -> object:
    """Yield each (container, key) of a document."""
    for key, value in list(node.items()) if isinstance(node, dict) else list(enumerate(node)) if isinstance(node, list) else []:
        yield node, key
        yield from _places(value)
