"""C structs as C text: each distinct struct, and each distinct array behind a pointer, is one constant. Not here: which (c_tables.py)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from emu.engines.c_ref._c import ffi
from tools.docs.c_words import ALWAYS, number

WIDTH: Final = 140
# Pointers to several: how many.
COUNTS: Final[dict[str, Callable[[Any], int]]] = {
    "emu_format.values": lambda item: 1 << item.bits,
    "emu_word.positions": lambda item: item.lanes * item.random_bits,
    "emu_program.registers": lambda item: item.register_count,
    "emu_program.steps": lambda item: item.step_count,
    "emu_program.levels": lambda item: item.level_count,
    "emu_program.names": lambda item: item.register_count,
    "emu_layout.digits": lambda item: item.digit_count,
}
SCOPES: Final = {"emu_step.policy": "cast_"}  # a step's own policy, whatever policy of the spec happens to equal it
Comments = Mapping[str, Sequence[str]]  # field that points at several -> a comment for each


class Constants:
    """The constants of one C file. lines: their text, in order of first use, so that each stands before what points at it."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self._names: dict[Any, str] = {}
        self._counts: dict[str, int] = {}

    def name(self, kind: str, struct: Any, name: str = "", about: str = "", comments: Comments | None = None, scope: str = "") -> str:
        """Return the name of the constant that equals a struct; a new one is called `name` (default: by number) and written down.

        kind: its C type.   struct: cffi pointer to it.   scope: equal structs are one constant inside a scope; "": of the spec.
        """
        key = (scope, kind, *_key(kind, struct))
        if key not in self._names:
            name = name or self._number(scope + kind.removeprefix("emu_"))
            text = self._struct(kind, struct, name, comments or {})
            self._names[key] = name
            if about:
                self.lines.append(f"/* {about} */")
            self.lines += _wrapped(f"static const {kind} {name} = ", text)
        return self._names[key]

    def add(self, kind: str, name: str, text: str) -> None:
        """Write down a constant that is made of text."""
        self.lines += _wrapped(f"static {kind} {name} = ", text)

    def _number(self, word: str) -> str:
        """Return a name for a constant that has none."""
        self._counts[word] = self._counts.get(word, 0) + 1
        return f"{word}_{self._counts[word]}"

    def _struct(self, kind: str, struct: Any, name: str, comments: Comments) -> str:
        parts = []
        for field, facts in ffi.typeof(kind).fields:
            where, value = f"{kind}.{field}", getattr(struct, field)
            if facts.type.kind == "pointer":
                if value != ffi.NULL:
                    parts.append(f".{field} = {self._pointer(where, struct, value, facts.type.item, name, comments.get(field, ()))}")
            elif where in ALWAYS or _key_of(facts.type, value) != _zero(facts.type):
                parts.append(f".{field} = {self._value(where, facts.type, value, struct)}")
        return "{" + ", ".join(parts) + "}"

    def _value(self, where: str, kind: Any, value: Any, struct: Any) -> str:
        if kind.kind == "struct":
            return self._struct(_cname(kind), value, "", {})
        if kind.kind == "array":
            items = list(value)
            while len(items) > 1 and where not in ALWAYS and _key_of(kind.item, items[-1]) == _zero(kind.item):
                items.pop()
            return "{" + ", ".join(self._value(where, kind.item, item, struct) for item in items) + "}"
        if kind.kind == "pointer":
            return quoted(_text(value))
        return number(where, value, struct)

    def _pointer(self, where: str, struct: Any, value: Any, kind: Any, name: str, comments: Sequence[str]) -> str:
        if where not in COUNTS:
            return "&" + self.name(_cname(kind), value, scope=SCOPES.get(where, ""))
        key = (where, *_items_key(where, struct, value, kind))
        if key not in self._names:
            self._names[key] = f"{name}_{where.rpartition('.')[2]}"
            items = [self._value(where, kind, value[place], struct) for place in range(COUNTS[where](struct))]
            cname = "char *const" if kind.kind == "pointer" else _cname(kind)
            start = f"static const {cname} {self._names[key]}[] = "
            if kind.kind == "struct":
                about = comments or [""] * len(items)
                rows = [f"    {item}," + (f" /* {note} */" if note else "") for item, note in zip(items, about, strict=True)]
                self.lines += [start + "{", *rows, "};"]
            else:
                self.lines += _wrapped(start, "{" + ", ".join(items) + "}")
        return self._names[key]


def _text(pointer: Any) -> str | None:
    """Return a C string, None for NULL."""
    return None if pointer == ffi.NULL else ffi.string(pointer).decode()


def quoted(text: str | None) -> str:
    """Return a C string of an id, NULL for None."""
    return "NULL" if text is None else f'"{text}"'


def _cname(kind: Any) -> str:
    return str(kind.cname).removeprefix("struct ")


def _key(kind: str, struct: Any) -> tuple[Any, ...]:
    """Return all that a struct says, what it points at included."""
    return tuple(_field_key(f"{kind}.{field}", facts.type, struct, getattr(struct, field)) for field, facts in ffi.typeof(kind).fields)


def _field_key(where: str, kind: Any, struct: Any, value: Any) -> Any:
    if kind.kind != "pointer":
        return _key_of(kind, value)
    if value == ffi.NULL:
        return None
    return _items_key(where, struct, value, kind.item) if where in COUNTS else _key(_cname(kind.item), value)


def _items_key(where: str, struct: Any, value: Any, kind: Any) -> tuple[Any, ...]:
    return tuple(_key_of(kind, value[place]) for place in range(COUNTS[where](struct)))


def _key_of(kind: Any, value: Any) -> Any:
    if kind.kind == "struct":
        return _key(_cname(kind), value)
    if kind.kind == "pointer":
        return _text(value)
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
