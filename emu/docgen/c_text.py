"""C structs as C text: each distinct struct is one named constant. Not here: which structs (c_tables.py)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from emu.native._c import ffi, lib

WIDTH: Final = 140
# Fields whose numbers have names, by prefix of the names; the order of the names does not matter.
WORDS: Final[dict[str, tuple[str, ...]]] = {
    "emu_format.format_class": ("EMU_FLOAT", "EMU_INTEGER", "EMU_EXPONENT", "EMU_CODEBOOK"),
    "emu_format.inf": ("EMU_INF_NONE", "EMU_INF_IEEE"),
    "emu_format.nan": ("EMU_NAN_NONE", "EMU_NAN_IEEE", "EMU_NAN_LIST"),
    "emu_format.integer_sign": ("EMU_TWOS_COMPLEMENT", "EMU_SIGN_MAGNITUDE", "EMU_UNSIGNED"),
    "emu_format.tie": ("EMU_TIE_EVEN_CODE", "EMU_TIE_LOWER", "EMU_TIE_AWAY"),
    "emu_rounding.choice": ("EMU_KEEP", "EMU_NEXT", "EMU_TO_EVEN_CODE", "EMU_TO_ODD_CODE"),
    "emu_rounding.add": ("EMU_ADD_NONE", "EMU_ADD_CARRY", "EMU_ADD_COMPARE", "EMU_ADD_HALF", "EMU_ADD_TE_FMA"),
    "emu_rounding.beyond_max": ("EMU_STOP_AT_MAX", "EMU_GO_AWAY"),
    "emu_policy.overflow": ("EMU_SATURATE", "EMU_TO_INF", "EMU_TO_NAN", "EMU_IEEE_INF", "EMU_IEEE_NAN", "EMU_WRAP"),
    "emu_special.rule": ("EMU_BY_RULE", "EMU_BY_CODE", "EMU_IS_OPEN", "EMU_IS_REFUSED"),
}
# Fields that are written even when they are 0, because 0 is a word that the reader looks for.
ALWAYS: Final = {"emu_format.format_class", "emu_rounding.choice", "emu_rounding.beyond_max", "emu_policy.overflow"}
HEX: Final = {"emu_format.nan_codes", "emu_special.code"}
# Pointers to several: how many.
COUNTS: Final[dict[str, Callable[[Any], int]]] = {
    "emu_format.values": lambda item: 1 << item.bits,
    "emu_word.positions": lambda item: item.lanes * item.random_bits,
}


def quoted(text: str) -> str:
    """Return a C string of an id."""
    return f'"{text}"'


class Constants:
    """The constants of one C file. lines: their text, in order of first use, so that each stands before what points at it."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self._names: dict[Any, str] = {}

    def name(self, kind: str, struct: Any, name: str, about: str = "") -> str:
        """Return the name of the constant that equals a struct; a new one is called `name` and written down.

        kind: its C type.   struct: cffi pointer to it.
        """
        key = (kind, *_key(kind, struct))
        if key not in self._names:
            text = self._struct(kind, struct, name)
            self._names[key] = name
            if about:
                self.lines.append(f"/* {about} */")
            self.lines += _wrapped(f"static const {kind} {name} = ", text)
        return self._names[key]

    def _struct(self, kind: str, struct: Any, name: str) -> str:
        parts = []
        for field, facts in ffi.typeof(kind).fields:
            where, value = f"{kind}.{field}", getattr(struct, field)
            if facts.type.kind == "pointer":
                if value != ffi.NULL:
                    parts.append(f".{field} = {self._pointer(where, struct, value, facts.type.item, name)}")
            elif where in ALWAYS or _key_of(facts.type, value) != _zero(facts.type):
                parts.append(f".{field} = {self._value(where, facts.type, value)}")
        return "{" + ", ".join(parts) + "}"

    def _value(self, where: str, kind: Any, value: Any) -> str:
        if kind.kind == "struct":
            return self._struct(_cname(kind), value, "")
        if kind.kind == "array":
            items = list(value)
            while len(items) > 1 and where not in ALWAYS and _key_of(kind.item, items[-1]) == _zero(kind.item):
                items.pop()
            return "{" + ", ".join(self._value(where, kind.item, item) for item in items) + "}"
        return _number(where, value)

    def _pointer(self, where: str, struct: Any, value: Any, kind: Any, name: str) -> str:
        if where not in COUNTS:
            return "&" + self.name(_cname(kind), value, f"{name}_{where.rpartition('.')[2]}")
        array = f"{name}_{where.rpartition('.')[2]}"
        items = [self._value(where, kind, value[place]) for place in range(COUNTS[where](struct))]
        self.lines += _wrapped(f"static const {_cname(kind)} {array}[] = ", "{" + ", ".join(items) + "}")
        return array


def _cname(kind: Any) -> str:
    return str(kind.cname).removeprefix("struct ")


def _number(where: str, value: int) -> str:
    for word in WORDS.get(where, ()):
        if getattr(lib, word) == value:
            return word
    return hex(value) if where in HEX else str(value)


def _key(kind: str, struct: Any) -> tuple[Any, ...]:
    """Return all that a struct says, what it points at included."""
    return tuple(_field_key(f"{kind}.{field}", facts.type, struct, getattr(struct, field)) for field, facts in ffi.typeof(kind).fields)


def _field_key(where: str, kind: Any, struct: Any, value: Any) -> Any:
    if kind.kind != "pointer":
        return _key_of(kind, value)
    if value == ffi.NULL:
        return None
    if where in COUNTS:
        return tuple(_key_of(kind.item, value[place]) for place in range(COUNTS[where](struct)))
    return _key(_cname(kind.item), value)


def _key_of(kind: Any, value: Any) -> Any:
    if kind.kind == "struct":
        return _key(_cname(kind), value)
    return tuple(_key_of(kind.item, item) for item in value) if kind.kind == "array" else int(value)


def _zero(kind: Any) -> Any:
    return _key_of(kind, ffi.new(f"{kind.cname} *")[0] if kind.kind != "array" else ffi.new(kind.cname))


def _wrapped(start: str, text: str) -> list[str]:
    """Return a definition as lines of at most WIDTH characters, broken between the outermost items where they fit."""
    if len(start) + len(text) < WIDTH:
        return [f"{start}{text};"]
    lines, line = [start + "{"], "   "
    for part in _items(text[1:-1]):
        if len(line) + len(part) + 2 > WIDTH:
            lines.append(line)
            line = "   "
        line += f" {part},"
    return [*lines, line, "};"]


def _items(text: str) -> list[str]:
    """Split a list of C initialisers at its outermost commas."""
    out, depth, start = [], 0, 0
    for place, letter in enumerate(text):
        depth += (letter == "{") - (letter == "}")
        if letter == "," and not depth:
            out.append(text[start:place].strip())
            start = place + 1
    return [*out, text[start:].strip()]
