"""A cell library as a liberty file: area, pin capacitance and function of its combinational cells. Not here: delays (abc reads the file).

The file is of the machine's own package and never part of this project; a record keeps its name, version and digest.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

from emu.base.errors import FileError

_NAMED: Final = re.compile(r"\b(cell|pin)\s*\(\s*\"?(\w+)\"?\s*\)")
_TOKEN: Final = re.compile(r"[!()+^*&|']|\w+")
Words = Any  # numbers of one bit or arrays of them: & | ^ ~ are all that is done with them


@dataclass(frozen=True)
class Cell:
    """One gate. area: square micrometres.   pins: input -> capacitance in femtofarads.   output: its name.   function: what it gives."""

    area: float
    pins: dict[str, float]
    output: str
    function: str

    def value(self, inputs: Mapping[str, Words]) -> Words:
        """Return the output for inputs by pin name, bit by bit."""
        return _sum(list(_tokens(self.function)), inputs)


@dataclass(frozen=True)
class Library:
    """A liberty file. package: name and version of its Debian package, empty where dpkg does not know it."""

    path: Path
    package: str
    sha256: str
    cells: dict[str, Cell]


def read_library(path: Path) -> Library:
    """Read the combinational cells with one output. Raises: FileError (cannot read; no such cell)."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise FileError(f"{path}: cannot read: {error.strerror}: apt-get install qflow-tech-osu018") from None
    text = re.sub(r"/\*.*?\*/", "", data.decode("ascii", "replace"), flags=re.DOTALL)
    cells = {name: cell for name, body in _groups(text, "cell") if (cell := _cell(body)) is not None}
    if not cells:
        raise FileError(f"{path}: no combinational cell: name a liberty file")
    return Library(path, _package(path), sha256(data).hexdigest(), cells)


def _groups(text: str, kind: str) -> Iterator[tuple[str, str]]:
    """Yield name and text of each group of a kind."""
    found = [match for match in _NAMED.finditer(text) if match[1] == kind]
    ends = [*(match.start() for match in found), len(text)][1:]
    yield from ((match[2], text[match.end() : end]) for match, end in zip(found, ends, strict=True))


def _cell(body: str) -> Cell | None:
    area = re.search(r"\barea\s*:\s*([\d.]+)", body)
    pins, outputs = {}, []
    for name, pin in _groups(body, "pin"):
        function = re.search(r'\bfunction\s*:\s*"([^"]+)"', pin)
        capacitance = re.search(r"\bcapacitance\s*:\s*([\d.]+)", pin)
        if function:
            outputs.append((name, function[1]))
        elif capacitance:
            pins[name] = float(capacitance[1]) * 1000
    if area is None or len(outputs) != 1 or set(re.findall(r"\w+", outputs[0][1])) != set(pins):
        return None  # a register, a latch, a three-state driver or two outputs
    return Cell(float(area[1]), pins, *outputs[0])


def _package(path: Path) -> str:
    """Return `name version` of the Debian package that owns a file."""
    if shutil.which("dpkg-query") is None:
        return ""
    owner = subprocess.run(["dpkg-query", "-S", str(path)], capture_output=True, text=True, check=False).stdout.partition(":")[0]
    if not owner:
        return ""
    shown = subprocess.run(["dpkg-query", "-W", "-f", "${Package} ${Version}", owner], capture_output=True, text=True, check=False)
    return shown.stdout.strip()


def _tokens(function: str) -> Iterator[str]:
    """Yield the tokens of a function; two operands beside each other are joined by AND."""
    before = ""
    for word in _TOKEN.findall(function):
        if before and (before == ")" or before.isalnum()) and (word in "!(" or word.isalnum()):
            yield "&"
        yield word
        before = word


def _sum(tokens: list[str], inputs: Mapping[str, Words]) -> Words:
    """Read and evaluate `a + b`, the weakest operator; XOR binds more, AND most."""
    return _joined(tokens, inputs, ("+", "^", "&"))


def _joined(tokens: list[str], inputs: Mapping[str, Words], operators: tuple[str, ...]) -> Words:
    if not operators:
        return _operand(tokens, inputs)
    value = _joined(tokens, inputs, operators[1:])
    while tokens and tokens[0] == operators[0]:
        tokens.pop(0)
        other = _joined(tokens, inputs, operators[1:])
        value = value | other if operators[0] == "+" else value ^ other if operators[0] == "^" else value & other
    return value


def _operand(tokens: list[str], inputs: Mapping[str, Words]) -> Words:
    word = tokens.pop(0)
    if word == "!":
        return ~_operand(tokens, inputs)
    if word == "(":
        value = _sum(tokens, inputs)
        tokens.pop(0)
        return value
    return inputs[word]
