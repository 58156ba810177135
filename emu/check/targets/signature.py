"""The signature of a C symbol: one line, one grammar. `f(x: const float*, n: size_t, codes: uint8_t*) -> int`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from emu.base.errors import OperandError

TYPES: Final = {
    "float": 4, "uint8_t": 1, "int8_t": 1, "uint16_t": 2, "int16_t": 2, "uint32_t": 4, "int32_t": 4, "int": 4, "uint64_t": 8, "int64_t": 8,
    "size_t": 8, "void": 0,
}  # fmt: skip
_WHOLE = re.compile(r"\s*([A-Za-z_]\w*)\s*\(([^()]*)\)\s*(?:->\s*(void|int)\s*)?\Z")
_PART = re.compile(r"\s*([a-z_][a-z0-9_]*)\s*:\s*(const\s+)?([a-z0-9_]+)\s*(\*?)\s*\Z")
HELP: Final = "write f(x: const float*, n: size_t, codes: uint8_t*), with -> int for a status that is 0 when all went well"


@dataclass(frozen=True)
class Parameter:
    """One parameter. role: "in" for a const pointer, "out" for another pointer, "value" for a number by value."""

    name: str
    type: str
    role: str

    @property
    def size(self) -> int:
        """Bytes of one element; 0 for void."""
        return TYPES[self.type]


@dataclass(frozen=True)
class Signature:
    """A C function. status: whether it returns an int that must be 0."""

    symbol: str
    parameters: tuple[Parameter, ...]
    status: bool


def parse_signature(text: str) -> Signature:
    """Return the signature of a line. Raises: OperandError that says which part is wrong."""
    whole = _WHOLE.match(text)
    if whole is None:
        raise OperandError(f"signature {text!r} is no signature: {HELP}")
    parts = whole[2].split(",") if whole[2].strip() else []
    found = tuple(_parameter(part) for part in parts)
    names = [item.name for item in found]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise OperandError(f"signature {text!r}: {twice} is there twice")
    if not any(item.role == "out" for item in found):
        raise OperandError(f"signature {text!r}: no parameter takes the answer: one must be a pointer without const")
    return Signature(whole[1], found, whole[3] == "int")


def _parameter(text: str) -> Parameter:
    match = _PART.match(text)
    if match is None:
        raise OperandError(f"signature: {text.strip()!r} is no parameter: {HELP}")
    name, const, kind, star = match.groups()
    if kind not in TYPES:
        raise OperandError(f"signature: type {kind!r} of {name} is unknown: one of {', '.join(TYPES)}")
    if kind == "void" and not star:
        raise OperandError(f"signature: {name} cannot be void: write void*")
    return Parameter(name, kind, ("in" if const else "out") if star else "value")
