"""Random recipes, every step that the checker accepts, and the blocks that they quantize.

Levels of granularity {sub: 1} hold intermediate values as they are, so that what is compared is every step and not only the codes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import TypeAdapter

from emu.base.errors import SpecError
from emu.spec.models import Recipe
from emu.spec.models.recipe import DecodeProgramStep, Step
from emu.spec.programs import program as programs
from emu.spec.programs.steps import type_step
from emu.spec.registry import get, isolated, load_spec, shipped_root

BLOCK = """kind: "block"
id: "{id}"
title: "t"
status: "proposed"
facts: {{element: {{format: "{element}"}}, shape: {shape}, packing: "none", scale_layout: "row_major", levels: [{levels}]}}
sources: []
"""
LEVEL = '{{name: "{0}", format: "{1}", granularity: {2}, meaning: "multiply"}}'
BLOCKS = {  # id: (element, rows and lanes, levels as (name, format, granularity))
    "plain": (
        "e2m1",
        [1, 8],
        [("every", "fp32", "{sub: 1}"), ("pair", "fp32", "{sub: 2}"), ("scale", "fp32", '"block"'), ("line", "fp32", '"row"')],
    ),
    "tiled": (
        "e1m2",
        [4, 8],
        [("every", "fp32", "{sub: 1}"), ("half", "ue4m3", "{sub: 4}"), ("whole", "fp32", '"tile"'), ("line", "fp32", '"row"')],
    ),
    "six": (
        "int4",
        [1, 6],
        [("every", "fp32", "{sub: 1}"), ("third", "fp32", "{sub: 3}"), ("scale", "e8m0", '"block"'), ("one", "fp32", '"tensor"')],
    ),
    "single": ("nf4", [1, 1], [("every", "fp32", '"block"'), ("line", "fp32", '"row"')]),
    "odd_tile": ("e4m3", [3, 5], [("every", "fp32", "{sub: 1}"), ("scale", "bf16", '"block"'), ("whole", "e6m2", '"tile"')]),
    "column": ("e5m2fnuz", [2, 1], [("every", "fp32", '"block"'), ("whole", "fp32", '"tile"')]),
    "flags": ("e3m0", [1, 16], [("every", "fp32", "{sub: 1}"), ("flag", "uint1", "{sub: 4}"), ("eight", "fp32", "{sub: 8}")]),
}
MODES = ("rne", "rne", "rne", "rz", "ru", "rd", "rna", "odd")
DRAWS = ("sr_add8", "sr_cmp8", "sr_half8", "sr_te_fma8", "sr_add16", "sr_te_sw8")
NARROW = (
    *("e2m1", "e1m2", "e0m3", "e3m0", "int4", "nf4", "e2m3", "e3m2", "e4m3", "e5m2", "e8m0", "ue4m3", "ue5m3", "e6m2"),
    *("bf16", "fp16", "int8", "e4m3fnuz", "e5m2fnuz", "ue1m0", "uint1"),
)
CONSTANTS = (
    *("0", "1", "-1", "2", "1/2", "6", "7/4", "448", "2^-126", "-2^-149", "2^127", "0x7F7FFFFF", "0x3E2AAAAB", "0x80000000"),
    *("0x7F800000", "0x7FC00000", "0xFF800000", "3/4", "-7", "5/2", "2^-9", "0x3F800001", "0x45280000", "0x00000001"),
)
OPS = {
    "amax": 2, "sum": 1, "two": 4, "fma": 1, "sign": 1, "minmax": 2, "clamp": 2, "round": 1, "grid": 1, "e8m0_rule": 1,
    "cast": 4, "decode": 2, "select": 3, "code_select": 1, "pow2": 0.1,
    "log2": 0.6, "integer": 0.6, "nearest": 0.6, "wrap": 0.4,
}  # fmt: skip


@contextmanager
def own_blocks(folder: Path) -> Iterator[None]:
    """The shipped spec and the blocks of this file, in a registry of their own. folder: empty, for their files."""
    for name, (element, shape, levels) in BLOCKS.items():
        text = ", ".join(LEVEL.format(*level) for level in levels)
        (folder / f"{name}.yaml").write_text(BLOCK.format(id=name, element=element, shape=shape, levels=text), encoding="utf-8")
    with isolated(shipped_root()):
        load_spec(folder)
        yield


class Writer:
    """Writes one program: steps drawn at random, those the checker refuses are thrown away."""

    def __init__(self, rng: np.random.Generator, block: Any, mode: str, given: dict[str, Any], model: Any, narrow: tuple[str, ...]) -> None:
        self.rng, self.block, self.types, self.model = rng, block, dict(given), TypeAdapter(model)
        self.arithmetic, self.mode, self.narrow, self.steps = get("format", "fp32"), get("rounding", mode), narrow, []

    def pick(self, items: Any) -> Any:
        return items[int(self.rng.integers(len(items)))]

    def value(self, constant: bool = True) -> str:
        names = [name for name, typed in self.types.items() if not typed.is_code]
        return self.pick(CONSTANTS) if constant and self.rng.random() < 0.3 else self.pick(names[-8:])

    def integral(self) -> str:
        """A name that holds integers alone, else any: then the step refuses most values."""
        whole = {step["out"] for step in self.steps if step["op"] == "round" and step["to"] in ("int4", "int8")}
        names = [name for name in self.types if name in whole]
        return self.pick(names) if names else self.pick(("3", "-5", "255", self.value()))

    def at(self, *extents: str) -> Any:
        lanes = self.block.facts.shape[1]
        extent = self.pick((*extents, "sub"))
        return {"sub": self.pick([n for n in range(1, lanes + 1) if lanes % n == 0])} if extent == "sub" else extent

    def add(self, step: dict[str, Any]) -> str | None:
        """Append a step if the checker accepts it; its name."""
        try:
            item = type_step(self.model.validate_python(step), self.types, self.arithmetic, self.mode, self.block)
        except SpecError:
            return None
        self.types[step["out"]] = item.type
        self.steps.append(step)
        return step["out"]

    def grow(self, count: int) -> None:
        for _ in range(40 * count):
            if len(self.steps) < count:
                step = self.step()
                self.add({"out": f"n{len(self.steps)}", **step})

    def step(self) -> dict[str, Any]:
        weights = np.array(list(OPS.values()), np.float64)
        op, v, nan = list(OPS)[self.rng.choice(len(OPS), p=weights / weights.sum())], self.value, self.pick(("propagate", "drop"))
        mode = {"round": self.pick(MODES)} if self.rng.random() < 0.5 else {}
        to = {"to": self.pick(("fp32", "bf16", "fp16", "e5m2"))} if self.rng.random() < 0.35 else {}
        plain: dict[str, Callable[[], dict[str, Any]]] = {
            "amax": lambda: {"op": op, "args": (v(False),), "nan": nan, "at": self.at("row", "tile", "block")},
            "sum": lambda: {"op": op, "args": (v(False),), "order": self.pick(("sequential", "halves", "tree")), "at": self.at("block")},
            "two": lambda: {"op": self.pick(("add", "sub", "mul", "div")), "args": (v(), v()), **to, **mode},
            "fma": lambda: {"op": op, "args": (v(), v(), v()), **to, **mode},
            "sign": lambda: {"op": self.pick(("abs", "neg")), "args": (v(),)},
            "minmax": lambda: {"op": self.pick(("min", "max")), "args": (v(), v()), "nan": nan},
            "clamp": lambda: {"op": op, "args": (v(), v(), v()), "nan": nan},
            "round": lambda: {"op": op, "args": (v(),), "to": self.pick(("fp32", "bf16", "fp16", "e5m2")), **mode},
            "grid": lambda: {"op": "round", "args": (v(),), "to": self.pick((*self.narrow, "fp32")), "overflow": "none", **mode},
            "pow2": lambda: {"op": op, "args": (v(),)},
            "log2": lambda: {"op": op, "args": (v(),)},
            "integer": lambda: {"op": "round", "args": (v(),), "to": self.pick(("int4", "int8")), "overflow": "none", **mode},
            "nearest": lambda: {"op": op, "args": (v(), v()), "to": self.pick(self.narrow)},
            "wrap": lambda: {"op": op, "args": (self.integral(),), "to": self.pick(self.narrow)},
            "e8m0_rule": self.e8m0_rule,
            "cast": lambda: self.cast(mode),
            "decode": self.decode,
            "select": lambda: self.select(v(), v()),
            "code_select": lambda: self.select(self.code(), self.code()),
        }
        return plain[op]()

    def e8m0_rule(self) -> dict[str, Any]:
        rule = self.pick(("floor", "even", "ceil", "field_up"))
        more = {} if rule == "field_up" else {"emax": self.pick((0, 2, -3, 200))}
        more |= {"frac_bits": self.pick((0, 1, 3))} if rule == "even" else {}
        return {"op": "e8m0_rule", "args": (self.value(),), "rule": rule, **more}

    def cast(self, mode: dict[str, Any]) -> dict[str, Any]:
        word = self.pick(("saturate", "saturate", "saturate", "inf", "nan", "ieee_inf", "ieee_nan", "wrap"))
        more = {"round": self.pick(DRAWS), "random": "random"} if self.rng.random() < 0.25 else mode
        nan = {"nan": self.pick(("0x0", "0x1", "0x7"))} if self.rng.random() < 0.3 else {}
        return {"op": "cast", "args": (self.value(),), "to": self.pick(self.narrow), "overflow": word, **more, **nan}

    def code(self) -> str:
        names = [name for name, typed in self.types.items() if typed.is_code and typed.formats]
        return self.pick(names) if names else "x"

    def decode(self) -> dict[str, Any]:
        name = self.code()
        formats = self.types[name].formats
        return {"op": "decode", "args": (name,), **({"format": self.pick(formats).id} if len(formats) > 1 else {})}

    def select(self, yes: str, no: str) -> dict[str, Any]:
        test = self.pick(("zero", "nan", "inf", "neg", "lt", "le", "ge"))
        tested = [self.value() for _ in range(2 if test in ("lt", "le", "ge") else 1)]
        return {"op": "select", "test": test, "args": (*tested, yes, no)}

    def output(self, out: str, fmt: str, extent: Any) -> str:
        """A name that may be stored in a format at a place, made where there is none."""
        last = [name for name, typed in self.types.items() if not typed.is_code and typed.extent.holds(extent)][-4:]
        if fmt == "fp32":
            return self.pick(last)
        known = [n for n, t in self.types.items() if t.is_code and t.extent.holds(extent) and [f.id for f in t.formats] == [fmt]]
        if known and self.rng.random() < 0.6:
            return self.pick(known)
        while True:
            found = self.add({"out": out, "op": "cast", "args": (self.pick(last),), "to": fmt, "round": self.pick(MODES)})
            if found is not None:
                return found


def random_recipe(rng: np.random.Generator, blocks: tuple[str, ...] = tuple(BLOCKS), narrow: tuple[str, ...] = NARROW) -> Recipe:
    """One recipe that the checker accepts; may still draw from two operands, which quantize_program refuses."""
    name, mode = blocks[rng.integers(len(blocks))], MODES[rng.integers(len(MODES))]
    block, fp32 = get("block", name), get("format", "fp32")
    quantize = Writer(rng, block, mode, programs._given(block, fp32, decoding=False), Step, narrow)
    quantize.grow(int(rng.integers(3, 14)))
    levels = {
        level.name: quantize.output(f"out_{level.name}", level.format, programs.extent_of(level.granularity, block))
        for level in block.facts.levels
    }
    codes = quantize.output("out_codes", block.element_formats[0], programs.ELEMENT)
    back = Writer(rng, block, mode, programs._given(block, fp32, decoding=True), DecodeProgramStep, narrow)
    back.add({"out": "element", "op": "decode", "args": ("codes",)})
    back.grow(int(rng.integers(3, 10)))
    values = [name for name, typed in back.types.items() if not typed.is_code and typed.extent == programs.ELEMENT]
    facts = {
        "block": name,
        "tail": back.pick(("error", "zero_pad_keep", "zero_pad_drop")),
        "arithmetic": {"to": "fp32", "round": mode},
        "steps": (*quantize.steps, {"op": "emit", "codes": codes, "levels": levels}),
        "dequantize": {"p": (*back.steps, {"op": "emit", "values": back.pick(values[-3:])})},
    }
    return Recipe.model_validate({"kind": "recipe", "id": "r", "title": "t", "status": "proposed", "sources": (), "facts": facts})
