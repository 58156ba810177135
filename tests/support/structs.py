"""Structs of the C reference as plain data, to compare what two ways of making them say."""

from __future__ import annotations

from typing import Any

from emu.engines.c_ref._c import ffi

LENGTHS = {
    "emu_format.values": lambda item: 1 << item.bits,
    "emu_word.positions": lambda item: item.lanes * item.random_bits,
    "emu_program.registers": lambda item: item.register_count,
    "emu_program.steps": lambda item: item.step_count,
    "emu_program.levels": lambda item: item.level_count,
    "emu_program.names": lambda item: item.register_count,
    "emu_block.elements": lambda item: item.element_count,
    "emu_block.levels": lambda item: item.level_count,
    "emu_layout.digits": lambda item: item.digit_count,
    "emu_recipe.levels": lambda item: item.level_count,
    "emu_levels.levels": lambda item: item.level_count,
}


def plain(value: Any, where: str = "", owner: Any = None) -> Any:
    """A struct as nested dicts and lists: what it points at is written out."""
    if not isinstance(value, ffi.CData):
        return value
    kind = ffi.typeof(value)
    if kind.kind == "array":
        return [plain(item) for item in value]
    if kind.kind == "pointer" and value == ffi.NULL:
        return None
    if kind.kind == "pointer" and where in LENGTHS:
        return [plain(item) for item in value[0 : LENGTHS[where](owner)]]
    if kind.kind == "pointer" and kind.item.kind == "primitive":
        return ffi.string(value).decode()
    item, shape = (value[0], kind.item) if kind.kind == "pointer" else (value, kind)
    name = shape.cname.removeprefix("struct ")
    return {field: plain(getattr(item, field), f"{name}.{field}", item) for field, _ in shape.fields}
