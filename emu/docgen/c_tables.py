"""c_ref/tables.c: the descriptors of the shipped spec as C constants, written from the very structs that emu.native builds.

Equal descriptors are one constant. Not here: what the functions that find them do (c_ref/names.c).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from emu.docgen.c_text import Constants, quoted
from emu.errors import EmuError
from emu.native import descriptors
from emu.spec import derive, get, names
from emu.spec.models import Conversion, Format, Rounding, SpecObject
from emu.spec.models.rounding import Word

PATH = "c_ref/tables.c"
HEAD = """/* tables.c: what the shipped spec says, as descriptors. Generated from spec/ by: emu docs build. Do not edit.
 *
 * Constants first, one for all objects that mean the same; then the tables that names.c searches, ids before aliases.
 */
#include "tables.h"
"""


def c_table_pages() -> dict[str, str]:
    """Return path in the source tree -> text of the C tables.

    Raises: SpecError for a fault of the spec.   Tests: tests/c_column/test_c_tables.py.
    """
    constants = Constants()
    tables = [_formats(constants), _roundings(constants), _words(constants), _policies(constants)]
    return {PATH: "\n".join([HEAD, *constants.lines, *(line for table in tables for line in ("", *table))]) + "\n"}


def _formats(constants: Constants) -> list[str]:
    rows, left_out = [], []
    for name in names("format"):
        fmt: Format = get("format", name)
        try:
            made = descriptors.format_descriptor(fmt)
        except EmuError as error:
            left_out.append((fmt, error))
            continue
        rows.append((fmt, "&" + constants.name("emu_format", made.pointer, f"format_{name}", _about(fmt))))
    return _table("emu_named_format", "emu_formats", rows, left_out)


def _roundings(constants: Constants) -> list[str]:
    fp32: Format = get("format", "fp32")
    target, rows = descriptors.format_descriptor(fp32), []
    for name in names("rounding"):
        rounding: Rounding = get("rounding", name)
        made = descriptors.rounding_descriptor(rounding, fp32, target)
        rows.append((rounding, "&" + constants.name("emu_rounding", made, f"rounding_{name}", _about(rounding))))
    return _table("emu_named_rounding", "emu_roundings", rows)


def _words(constants: Constants) -> list[str]:
    """Roundings whose elements share random words: where the bits of each lane are."""
    rows = []
    for name in names("rounding"):
        rounding: Rounding = get("rounding", name)
        shared = rounding.facts.random
        if isinstance(shared, Word):
            places = bytes(bit for lane in shared.fields for first, last in lane for bit in descriptors.bit_places(first, last))
            made = descriptors.word_descriptor(shared.lanes, shared.word, rounding.random_bits, places)
            rows.append((rounding, "&" + constants.name("emu_word", made.pointer, f"word_{name}", _about(rounding))))
    return _table("emu_named_word", "emu_words", rows)


def _policies(constants: Constants) -> list[str]:
    lines = ["const emu_named_policy emu_policies[] = {"]
    for name in names("conversion"):
        policy: Conversion = get("conversion", name)
        lines.append(f"    /* {_about(policy)} */")
        for fmt, entry in _entries(policy):
            target = descriptors.format_descriptor(fmt)
            made = descriptors.policy_descriptor(entry, fmt, target)
            constant = constants.name("emu_policy", made, f"policy_{name}_{fmt.id}", f"{name} on the way to {fmt.id}")
            lines += [f"    {{{quoted(word)}, {quoted(fmt.id)}, &{constant}}}," for word in (policy.id, *policy.aliases)]
    return [*lines, "    {NULL, NULL, NULL},", "};"]


def _entries(policy: Conversion) -> Iterator[tuple[Format, Any]]:
    """Yield every format that a policy covers and C can write, with its entry."""
    for name in names("format"):
        fmt: Format = get("format", name)
        try:
            entry = derive.policy_entry(policy, fmt)
            descriptors.policy_descriptor(entry, fmt, descriptors.format_descriptor(fmt))
        except EmuError:
            continue
        yield fmt, entry


def _about(thing: SpecObject) -> str:
    return f"{thing.id} ({thing.status}): {thing.title}"


def _table(kind: str, name: str, rows: list[tuple[Any, str]], left_out: Any = ()) -> list[str]:
    """Return the table of one kind: a row for each id, then one for each alias; what C cannot run is named in a comment."""
    lines = [f"/* not here: {thing.id}: {error} */" for thing, error in left_out]
    lines.append(f"const {kind} {name}[] = {{")
    lines += [f"    {{{quoted(thing.id)}, {quoted(thing.id)}, {constant}}}," for thing, constant in rows]
    lines += [f"    {{{quoted(alias)}, {quoted(thing.id)}, {constant}}}," for thing, constant in rows for alias in thing.aliases]
    return [*lines, "    {NULL, NULL, NULL},", "};"]
