"""Random objects of a user, as spec files: formats, policies, blocks, recipes, datapaths."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import draw
import numpy as np

COUNTS = {"format": 24, "policy": 3, "recipe": 10, "datapath": 14}
ELEMENTS = (("e2m1", "6"), ("e1m2", "7/4"), ("int4", "7"), ("e3m0", "16"), ("own_format_0", "3"), ("own_format_3", "2"))


class Chance:
    """Choices that follow from a key and the number of the choice."""

    def __init__(self, key: str) -> None:
        """key: what the choices follow from."""
        self.drawn = iter(draw.words(key, 200))

    def of(self, *options: Any) -> Any:
        """Return one of the options."""
        return options[int(next(self.drawn) % np.uint64(len(options)))]


def yaml_text(value: Any) -> str:
    """Return a value as YAML in one line, with bare keys and quoted words, as spec files want it."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}: {yaml_text(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(yaml_text, value)) + "]"
    return json.dumps(value)


def write(folder: Path, kind: str, name: str, facts: dict[str, Any]) -> None:
    """Write one spec file."""
    path = folder / kind / f"{name}.yaml"
    path.parent.mkdir(parents=True, exist_ok=True)
    sources = [{"ref": "emu", "where": "drawn"}]
    head = {"kind": kind, "id": name, "title": f"drawn {name}", "status": "proposed"}
    whole = {**head, "facts": facts, "expect": [], "open": [], "sources": sources}
    path.write_text("".join(f"{key}: {yaml_text(value)}\n" for key, value in whole.items()), encoding="utf-8")


def format_facts(chance: Chance) -> dict[str, Any]:
    """Return the facts of a consistent format: a float, an integer, a power of two or a codebook."""
    kind = chance.of("float", "float", "float", "float", "integer", "exponent", "codebook")
    if kind == "integer":
        signed = chance.of("twos_complement", "sign_magnitude", "no")
        return {"class": "integer", "signed": signed, "bits": chance.of(3, 4, 5, 6, 8), "unit_exp": chance.of(-4, 0, 2)}
    if kind == "exponent":
        bits = chance.of(4, 6, 8)
        nan = chance.of("none", [f"0x{(1 << bits) - 1:X}"])
        return {"class": "exponent", "signed": "no", "bits": bits, "bias": chance.of(1 << (bits - 1), (1 << (bits - 1)) - 1), "nan": nan}
    if kind == "codebook":
        bits = chance.of(3, 4)
        drawn = draw.words(f"values {bits} {chance.of(*range(50))}", 60)
        values = sorted({int(word % np.uint64(256)) - 128 for word in drawn})[: 1 << bits]
        listed = [f"{value}/16" if value else "0" for value in values]
        return {"class": "codebook", "bits": bits, "values": listed, "tie": chance.of("even_code", "lower", "away")}
    return float_facts(chance)


def float_facts(chance: Chance) -> dict[str, Any]:
    """Return the facts of a float without specials, with those of IEEE 754, or with NaN in its last codes."""
    exp, frac, signed = chance.of(1, 2, 3, 4, 5), chance.of(0, 1, 2, 3), chance.of("yes", "yes", "no")
    special = chance.of("none", "none", "ieee", "top") if exp > 1 and frac > 0 else "none"
    top = (1 << (exp + frac)) - 1
    last = [f"0x{top:X}"] + ([f"0x{top | 1 << (exp + frac):X}"] if signed == "yes" else [])
    fields = {"exp_bits": exp, "frac_bits": frac, "bias": (1 << (exp - 1)) - 1 + chance.of(-1, 0, 0, 1, 3)}
    nan = {"none": "none", "ieee": "ieee", "top": last}[special]
    specials = {"subnormals": "yes", "inf": "ieee" if special == "ieee" else "none", "nan": nan, "neg_zero": signed}
    return {"class": "float", "signed": signed, **fields, **specials}


def policy_facts(chance: Chance) -> dict[str, Any]:
    """Return a policy for every format with and without a NaN code."""
    nan = {"positive": "nan", "negative": "nan"}
    beyond = chance.of({"overflow": "saturate"}, {"overflow": "nan", "overflow_nan": nan})
    code = chance.of("max", "0x0")
    without = {"overflow": "saturate", "nan": {"positive": code, "negative": code}}
    return {"with_nan": {**beyond, "nan": nan}, "without_nan": without}


def _step(out: str, op: str, *args: str, **more: Any) -> dict[str, Any]:
    return {"out": out, "op": op, "args": list(args), **more}


def write_recipe(folder: Path, name: str, chance: Chance) -> None:
    """Write a block and a recipe: maximum of a block, a scale, elements rounded, the way back."""
    element, largest = chance.of(*ELEMENTS)
    columns, scale = chance.of(8, 16, 24, 32), chance.of("ue4m3", "e8m0", "fp32", "ue5m3")
    level = {"name": "scale", "format": scale, "granularity": "block", "meaning": "multiply"}
    block = {"element": {"format": element}, "shape": [1, columns], "packing": "none", "scale_layout": "row_major", "levels": [level]}
    write(folder, "block", f"{name}_block", block)
    steps = [_step("block_amax", "amax", "x", nan="propagate", at="block"), _step("unit", chance.of("div", "mul"), "block_amax", largest)]
    back = [_step("code_value", "decode", "codes")]
    if scale == "fp32":
        steps += [_step("scale", "select", "unit", "1", "unit", test="zero"), _step("value", "max", "scale", "2^-126", nan="propagate")]
        back += [_step("values", "mul", "code_value", "scale")]
    else:
        steps += [_step("scale", "cast", "unit", to=scale, round=chance.of(*(("ru", "rz") if scale == "e8m0" else ("rne", "ru", "rz"))))]
        steps += [_step("decoded", "decode", "scale"), _step("value", "max", "decoded", "2^-126", nan="propagate")]
        back += [_step("scale_value", "decode", "scale"), _step("values", "mul", "code_value", "scale_value")]
    if chance.of(True, False):
        steps += [_step("inverse", "div", "1", "value"), _step("scaled", "mul", "x", "inverse")]
    else:
        steps += [_step("scaled", "div", "x", "value")]
    steps += [_step("number", "select", "scaled", "0", "scaled", test="nan")]
    steps += [_step("codes", "cast", "number", to=element, round=chance.of("rne", "rna", "rz", "odd"))]
    steps += [{"op": "emit", "codes": "codes", "levels": {"scale": "scale"}}]
    head = {"block": f"{name}_block", "tail": chance.of("zero_pad_drop", "zero_pad_keep"), "arithmetic": {"to": "fp32", "round": "rne"}}
    write(folder, "recipe", name, {**head, "steps": steps, "dequantize": {"drawn": [*back, {"op": "emit", "values": "values"}]}})


def datapath_facts(chance: Chance) -> dict[str, Any]:
    """Return a datapath: drawn operands, step, group, fraction bits, floor, rounding."""
    elements = ("e2m1", "e1m2", "int4", "e2m3", "e3m0")
    scaled = chance.of(True, False)
    facts = {"a": [chance.of(*elements)], "b": [chance.of(*elements)], "c": "fp32", "k": 32}
    step = chance.of(16, 32)
    align = {"fraction_bits": chance.of(8, 14, 25, 35), "cut": "rz", "floor": chance.of("derived", "none")}
    hold = {"format": "fp32", "rounding": chance.of("rne", "rz", "rna"), "keep": chance.of(10, 13, 23)}
    chain = {"id": "k", "of": "all", "add": "chain", "by": step // 16 if scaled else step, "start": "c", "align": align, "hold": hold}
    group = [{"id": "grp", "of": 16, "add": "exact", "scale": {}}]
    facts |= {"scale": {"formats": ["ue4m3"], "blocks": [16]}, "levels": [*group, chain]} if scaled else {"levels": [chain]}
    return {**facts, "out": {"format": "fp32"}, "special": {"when": "once", "nan": "0x7FFFFFFF"}}


def write_all(folder: Path, policy: str) -> list[str]:
    """Write every drawn object, each in a folder of its own. policy: the kind of a policy. Returns: the folders, in the order to load."""
    for kind, count in COUNTS.items():
        for i in range(count):
            name, chance = f"own_{kind}_{i}", Chance(f"{kind} {i}")
            if kind == "recipe":
                write_recipe(folder / name, name, chance)
            else:
                facts = {"format": format_facts, "policy": policy_facts, "datapath": datapath_facts}[kind](chance)
                write(folder / name, policy if kind == "policy" else kind, name, facts)
    return [f"own_{kind}_{i}" for kind, count in COUNTS.items() for i in range(count)]
