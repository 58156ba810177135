"""c_ref/src/tables/tables.c: the descriptors of the shipped spec as C constants, written from the structs that emu.engines.c_ref builds.

Equal descriptors are one constant. Not here: what the functions that find them do (c_ref/src/tables/names.c).
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from typing import Any

from emu.base.errors import EmuError
from emu.engines.c_ref import datapath as datapaths
from emu.engines.c_ref import descriptors
from emu.engines.c_ref import program as programs
from emu.engines.c_ref.layout import layout_descriptor
from emu.spec import derive, get, names
from emu.spec.datapath import known_facts, pairs
from emu.spec.models import Block, Datapath, Format, Layout, Policy, Recipe, Rounding, SpecObject, Transform
from emu.spec.models.datapath import DatapathFacts
from emu.spec.models.rounding import Word
from emu.spec.programs.program import Program, dequantize_program, quantize_program
from emu.spec.programs.types import extent_of
from tools.docs.c_text import Constants, quoted

PATH = "c_ref/src/tables/tables.c"
HEAD = """/* tables.c: what the shipped spec says, as descriptors. Generated from spec/ by: python -m tools.docs build. Do not edit.
 *
 * Constants first, one for all objects that mean the same; then the tables that names.c searches, ids before aliases.
 */
#include "tables.h"
"""


def c_table_pages() -> dict[str, str]:
    """Return path in the source tree -> text of the C tables.

    Raises: SpecError for a fault of the spec.   Tests: tests/engines/c_ref/test_c_tables.py.
    """
    constants = Constants()
    tables = [
        make(constants)
        for make in (_formats, _roundings, _words, _policies, _transforms, _blocks, _layouts, _recipes, _programs, _datapaths)
    ]
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
            made = descriptors.word_descriptor(shared.lanes, shared.word, rounding.random_bits, descriptors.lane_places(shared))
            rows.append((rounding, "&" + constants.name("emu_word", made.pointer, f"word_{name}", _about(rounding))))
    return _table("emu_named_word", "emu_words", rows)


def _policies(constants: Constants) -> list[str]:
    lines = ["const emu_named_policy emu_policies[] = {"]
    for name in names("policy"):
        policy: Policy = get("policy", name)
        lines.append(f"    /* {_about(policy)} */")
        for fmt, entry in _entries(policy):
            target = descriptors.format_descriptor(fmt)
            made = descriptors.policy_descriptor(entry, fmt, target)
            constant = constants.name("emu_policy", made, f"policy_{name}_{fmt.id}", f"{name} on the way to {fmt.id}")
            lines += [f"    {{{quoted(word)}, {quoted(fmt.id)}, &{constant}}}," for word in (policy.id, *policy.aliases)]
    return [*lines, "    {NULL, NULL, NULL},", "};"]


def _entries(policy: Policy) -> Iterator[tuple[Format, Any]]:
    """Yield every format that a policy covers and C can write, with its entry."""
    for name in names("format"):
        fmt: Format = get("format", name)
        try:
            entry = derive.policy_entry(policy, fmt)
            descriptors.policy_descriptor(entry, fmt, descriptors.format_descriptor(fmt))
        except EmuError:
            continue
        yield fmt, entry


def _transforms(constants: Constants) -> list[str]:
    rows, left_out = [], []
    for name in names("transform"):
        transform: Transform = get("transform", name)
        try:
            made = programs.transform_descriptor(transform)
        except EmuError as error:
            left_out.append((transform, error))
            continue
        rows.append((transform, "&" + constants.name("emu_transform", made.pointer, f"transform_{name}", _about(transform))))
    return _table("emu_named_transform", "emu_transforms", rows, left_out)


def _format(constants: Constants, name: str) -> str:
    """Return the address of the constant of a format."""
    made = descriptors.format_descriptor(get("format", name))
    return "&" + constants.name("emu_format", made.pointer)


def _blocks(constants: Constants) -> list[str]:
    rows = []
    for name in names("block"):
        block: Block = get("block", name)
        elements = [_format(constants, item) for item in block.element_formats]
        levels = []
        for level in block.facts.levels:
            extent = extent_of(level.granularity, block)
            levels.append(f"{{{quoted(level.name)}, {_format(constants, level.format)}, {extent.rows}, {extent.columns}}}")
        constants.add("const emu_format *const", f"elements_{name}[]", "{" + ", ".join(elements) + "}")
        if levels:
            constants.add("const emu_block_level", f"block_levels_{name}[]", "{" + ", ".join(levels) + "}")
        sides = f"{block.facts.shape[0]}, {block.facts.shape[1]}, {len(elements)}, elements_{name}"
        constants.lines.append(f"/* {_about(block)} */")
        constants.add("const emu_block", f"block_{name}", f"{{{sides}, {len(levels)}, {f'block_levels_{name}' if levels else 'NULL'}}}")
        rows.append((block, f"&block_{name}"))
    return _table("emu_named_block", "emu_blocks", rows)


def _layouts(constants: Constants) -> list[str]:
    rows = []
    for name in names("layout"):
        layout: Layout = get("layout", name)
        made = layout_descriptor(layout)
        rows.append((layout, "&" + constants.name("emu_layout", made.pointer, f"layout_{name}", _about(layout))))
    return _table("emu_named_layout", "emu_layouts", rows)


def _recipes(constants: Constants) -> list[str]:
    """The emu_recipe of each recipe: what names say of it."""
    rows = []
    for name in names("recipe"):
        recipe: Recipe = get("recipe", name)
        block: Block = get("block", recipe.facts.block)
        made = descriptors.format_descriptor(get("format", block.element_formats[0]))
        element = constants.name("emu_format", made.pointer)
        draws = [item.rounding for item in quantize_program(recipe).instructions if item.rounding is not None and item.rounding.random_bits]
        shared = f"&word_{draws[0].id}" if draws and isinstance(draws[0].facts.random, Word) else "NULL"
        levels = ", ".join(quoted(level.name) for level in block.facts.levels)
        facts = f"{quoted(block.id)}, &{element}, {len(block.element_formats)}, {len(block.facts.levels)}, levels_{name}, {shared}"
        constants.lines += [
            f"static const char *const levels_{name}[] = {{{levels}}};",
            f"/* {_about(recipe)} */",
            f"static const emu_recipe recipe_{name} = {{{facts}}};",
        ]
        rows.append((recipe, f"&recipe_{name}"))
    return _table("emu_named_recipe", "emu_recipes", rows)


def _programs(constants: Constants) -> list[str]:
    lines, left_out = ["const emu_named_program emu_programs[] = {"], []
    for name in names("recipe"):
        recipe: Recipe = get("recipe", name)
        for profile in (None, *recipe.facts.dequantize):
            program = quantize_program(recipe) if profile is None else dequantize_program(recipe, profile)
            try:
                made = programs.program_descriptor(recipe, program)
            except EmuError as error:
                left_out.append(f"/* not here: {name} {profile or 'quantize'}: {error} */")
                continue
            constant = f"{'quantize' if profile is None else 'dequantize'}_{name}{'' if profile is None else '_' + profile}"
            notes = {"steps": [item.out for item in program.instructions], "registers": _register_names(made, program)}
            found = constants.name("emu_program", made.pointer, constant, f"{name}, {profile or 'quantize'}", notes)
            lines.append(f"    {{{quoted(name)}, {quoted(profile)}, &{found}}},")
    return [*left_out, *lines, "    {NULL, NULL, NULL},", "};"]


def _datapaths(constants: Constants) -> list[str]:
    """Datapaths without their operands, and what each leaves free; F, I and the floor are derived in C for the chosen ones."""
    rows, left_out = [], []
    shared: dict[str, str] = {}
    for name in names("datapath"):
        model: Datapath = get("datapath", name)
        try:
            facts = known_facts(model)
        except EmuError as error:
            left_out.append((model, error))
            continue
        made = datapaths.fill_descriptor(facts, get("format", facts.d))
        constant = constants.name("emu_datapath", made.pointer, f"datapath_{name}", _about(model))
        rows.append((model, f"&{constant}, &{_choices(constants, shared, name, facts)}"))
    return _table("emu_named_datapath", "emu_datapaths", rows, left_out, "NULL, NULL, NULL, NULL")


def _choices(constants: Constants, shared: dict[str, str], name: str, facts: DatapathFacts) -> str:
    """Write down what a datapath leaves free, its lists first; return the name. shared: texts written so far and their names."""
    pointers = [
        [_format(constants, item) for item in formats]
        for formats in ([item for pair in pairs(facts) for item in pair], facts.scale.formats)
    ]
    lists = (
        ("pairs", "const emu_format *const", pointers[0], len(pairs(facts))),
        ("scales", "const emu_format *const", pointers[1], len(facts.scale.formats)),
        ("blocks", "const int32_t", [str(size) for size in facts.scale.blocks], len(facts.scale.blocks)),
    )
    fields = [f"{_shared(constants, shared, kind, f'{what}_{name}', items)}, {count}" for what, kind, items, count in lists]
    return _shared(constants, shared, "const emu_choices", f"choices_{name}", fields)


def _shared(constants: Constants, shared: dict[str, str], kind: str, name: str, items: list[str]) -> str:
    """Write down a constant once; return the name of the first that says the same, NULL for an empty list."""
    text = "{" + ", ".join(items) + "}"
    if items and text not in shared:
        shared[text] = name
        constants.add(kind, name + ("" if kind == "const emu_choices" else "[]"), text)
    return shared[text] if items else "NULL"


def _register_names(made: programs.ProgramDescriptor, program: Program) -> list[str]:
    """Return what each register holds: a name of the program, or a constant."""
    pointer = made.pointer
    found = {getattr(pointer, name): name for name in ("x", "tensor_amax", "random", "codes") if getattr(pointer, name) >= 0}
    found |= {pointer.levels[place].reg: name for place, name in enumerate(made.levels) if pointer.levels[place].reg not in found}
    found |= {pointer.steps[place].out: item.out for place, item in enumerate(program.instructions)}
    return [found.get(number, "constant") for number in range(pointer.register_count)]


def _about(thing: SpecObject) -> str:
    return f"{thing.id} ({thing.status}): {thing.title}"


def _table(kind: str, name: str, rows: list[tuple[Any, str]], left_out: Any = (), end: str = "NULL, NULL, NULL") -> list[str]:
    """Return the table of one kind: a row for each id, then one for each alias; what C cannot run is named in a comment."""
    notes = [f"/* not here: {thing.id}: {error} */" for thing, error in left_out]
    lines = [line for note in notes for line in textwrap.wrap(note, 138, subsequent_indent=" * ")]
    lines.append(f"const {kind} {name}[] = {{")
    lines += [f"    {{{quoted(thing.id)}, {quoted(thing.id)}, {constant}}}," for thing, constant in rows]
    lines += [f"    {{{quoted(alias)}, {quoted(thing.id)}, {constant}}}," for thing, constant in rows for alias in thing.aliases]
    return [*lines, f"    {{{end}}},", "};"]
