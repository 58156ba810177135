"""Records: JSON files that keep what was measured or proved, with the digests of the facts that it came from.

A record is data of dictionaries and lists. Its text is stable: the same data gives the same bytes, one entry a line where entries are many,
so that a record in version control changes by the lines of what was measured again. A record is old when an object of the spec, or another
source it was made from, has another digest now.
Not here: what a record holds, and what its entries were made from (each module that keeps one).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from emu.base.atomic import whole_file
from emu.base.errors import FileError
from emu.base.inputs import read_json
from emu.spec.registry import digest, get

Data = dict[str, Any]
Place = tuple[str | int, ...]  # keys and numbers that lead to a value, from the outermost in
Facts = dict[str, dict[str, str]]  # kind -> name -> digest


@dataclass(frozen=True)
class Record:
    """One kind of record.

    what: what it is, for messages, such as "record of sweeps".   mend: how to make it anew, such as "run emu sweep".
    keys: what it holds at least.   opened: tells whether the entries of the value at a place stand on lines of their own.
    indent: blanks before an entry for each opened value around it.   ascii: are other letters written as escapes.
    check: raises ValueError, KeyError or TypeError for data that is none of this kind.
    """

    what: str
    mend: str
    opened: Callable[[Place, Any], bool]
    keys: Collection[str] = ()
    indent: int = 1
    ascii: bool = True
    check: Callable[[Data], Any] = lambda data: None

    def read(self, path: Path) -> Data:
        """Return the data of a record. Raises: FileError (missing, damaged, of another kind), in one line that says how to mend it."""
        try:
            found = read_json(path, own=True)
        except OSError as error:
            raise self._refused(path, error.strerror or str(error)) from None
        except ValueError as error:  # no JSON, or no UTF-8
            raise self._refused(path, str(error)) from None
        if not isinstance(found, dict):
            raise self._refused(path, f"holds a {type(found).__name__}")
        missing = [key for key in self.keys if key not in found]
        if missing:
            raise self._refused(path, f"not the whole record: {', '.join(missing)} missing")
        try:
            self.check(found)
        except KeyError as error:
            raise self._refused(path, f"{error.args[0]} is missing") from None
        except (ValueError, TypeError, AttributeError) as error:
            raise self._refused(path, str(error)) from None
        return found

    def _refused(self, path: Path, why: str) -> FileError:
        return FileError(f"{path}: no {self.what} ({why}): {self.mend}")

    def text(self, data: Mapping[str, Any]) -> str:
        """Return the text of the file."""
        return self._text((), data) + "\n"

    def _text(self, place: Place, value: Any) -> str:
        if not isinstance(value, Mapping | list | tuple) or not self.opened(place, value):
            return json.dumps(value, ensure_ascii=self.ascii)
        entries: Iterable[tuple[str | int, Any, str]]
        if isinstance(value, Mapping):
            entries = ((key, item, f"{json.dumps(key, ensure_ascii=self.ascii)}: ") for key, item in value.items())
        else:
            entries = ((number, item, "") for number, item in enumerate(value))
        pad = " " * (self.indent * (len(place) + 1))
        lines = ",\n".join(f"{pad}{head}{self._text((*place, key), item)}" for key, item, head in entries)
        start, end = "{}" if isinstance(value, Mapping) else "[]"
        return "\n".join(part for part in (start, lines, " " * (self.indent * len(place)) + end) if part)

    def write(self, path: Path, data: Mapping[str, Any], force: bool = True) -> None:
        """Write a record whole or not at all. force: may it replace a file. Raises: FileError."""
        with whole_file(path, force) as file:
            file.write(self.text(data).encode("utf-8"))


def read_lines(kind: Record, path: Path, key: str) -> dict[str, Data]:
    """Return name -> line, of a record whose value of a key holds a line for each name. Raises: as Record.read."""
    found = kind.read(path)[key]
    if not isinstance(found, dict) or not all(isinstance(line, dict) for line in found.values()):
        raise FileError(f"{path}: no {kind.what} ({key} holds no lines by name): {kind.mend}")
    return found


def opens(*names: str) -> Callable[[Place, Any], bool]:
    """Return a rule for Record.opened: the record itself and the values of these keys of it stand open, nothing inside them."""
    return lambda place, _: not place or (len(place) == 1 and place[0] in names)


def all_open(_: Place, value: Any) -> bool:
    """A rule for Record.opened: one value a line, as json.dumps with indent writes it."""
    return bool(value)


def digests_of(names: Mapping[str, Iterable[str]]) -> Facts:
    """Return the digests of objects of the spec. names: kind -> names. Raises: SpecError (unknown)."""
    return {kind: {name: digest(get(kind, name)) for name in some} for kind, some in names.items()}


def changed(then: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """Return the names whose digest is another now, and those that are missing in then; empty when all still fits.

    then, now: name -> digest, in the order of the answer. Names that now does not have are not judged.
    """
    return [name for name, made in now.items() if then.get(name) != made]
