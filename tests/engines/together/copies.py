"""Asks every engine about shipped objects and about copies of them under other ids, one after the other, in a process of its own.

usage: python copies.py FOLDER original|copy EVERY
FOLDER: where the copies are written.
original, copy: which of the two is asked first, so that neither finds what the other left in a cache.
EVERY: 1 asks about all conversions and choices of operands, n about each n-th conversion and some of the operands.
Prints one JSON object: name of the question -> [original, copy], each [engine under auto, [engine, digest of bits or kind of error], ...].
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from user_objects import random_for, yaml_text

from emu.base.errors import EmuError
from emu.engines import datapath as engine_datapath
from emu.engines import run as engine_run
from emu.engines import table as engine_table
from emu.spec import derive, get, load_spec, names
from emu.spec.datapath import plans_of
from emu.spec.models import Format, Recipe
from emu.spec.models.datapath import DatapathFacts
from emu.spec.programs.program import quantize_program
from emu.spec.steps import in_levels

KINDS = ("format", "rounding", "policy", "block", "transform", "recipe", "datapath")
PREFIX = "copy_of_"
FLOATS = ("fp32", "bf16", "fp16", "fp64")
WIDTHS = {8: np.uint8, 16: np.uint16, 32: np.uint32, 64: np.uint64}
Question = tuple[str, str, tuple[Any, ...], Callable[[str], Any]]  # name, operation, what choose asks about, and the call


def write_copies(folder: Path) -> None:
    """One file for each shipped object of KINDS: the same facts, the id and the ids that it names with a prefix."""
    for kind in KINDS:
        for name in names(kind):
            thing = in_levels(get(kind, name)) if kind == "datapath" else get(kind, name)
            data = thing.model_dump(mode="json", by_alias=True, exclude_none=True)
            for other, named, path in thing.references():
                if other in KINDS:
                    _rename(data, path, named)
            if isinstance(data["facts"].get("pairs"), list):
                data["facts"]["pairs"] = [[PREFIX + item for item in pair] for pair in data["facts"]["pairs"]]
            for key in ("aliases", "expect", "based_on"):
                data.pop(key, None)
            data["id"] = PREFIX + name
            path = folder / kind / f"{data['id']}.yaml"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(yaml_text(data), encoding="utf-8")


def _rename(data: dict[str, Any], path: tuple[str | int, ...], name: str) -> None:
    """Put the prefix before a name: the value at a path, or for a policy the key."""
    *above, last = path
    inner: Any = data
    for key in above:
        inner = inner[key]
    if isinstance(inner, list) and isinstance(inner[last], dict):
        inner[last]["format"] = PREFIX + name  # an element format chosen by a flag
    elif isinstance(inner[last], dict):
        inner[PREFIX + name] = inner.pop(last)
    else:
        inner[last] = PREFIX + name


def codes_of(fmt: Format, shape: tuple[int, ...], seed: int) -> Any:
    """Codes of a format: of wide floats near 1, of others all."""
    rng, bits = np.random.default_rng(seed), derive.codes(fmt).bits
    width = WIDTHS[next(size for size in WIDTHS if bits <= size)]
    if bits > 8:
        wide = (rng.standard_normal(shape) * 2.0 ** rng.integers(-6, 6, shape)).astype(np.float32)
        from emu.engines.numpy.convert import convert

        found = convert(wide.view(np.uint32), get("format", "fp32"), fmt, get("rounding", "rz"), get("policy", "nvidia"))
        return found.astype(width)
    return rng.integers(0, 1 << bits, shape).astype(width)


def covers(rules: str, name: str) -> bool:
    """Whether a policy says something of a destination."""
    try:
        derive.policy_entry(get("policy", rules), get("format", name))
    except EmuError:
        return False
    return True


class Asker:
    """Questions about the shipped objects, or about the copies: the same in the same order."""

    def __init__(self, prefix: str, every: int) -> None:
        self.prefix, self.every = prefix, every

    def get(self, kind: str, name: str) -> Any:
        return get(kind, self.prefix + name)

    def questions(self) -> Iterator[Question]:
        yield from self.decoding()
        yield from self.conversions()
        yield from self.transforms()
        yield from self.recipes()
        yield from self.datapaths()

    def decoding(self) -> Iterator[Question]:
        for name in SHIPPED["format"]:
            for to in FLOATS:
                fmt, result = self.get("format", name), self.get("format", to)
                codes = codes_of(get("format", name), (40,), 1)
                if derive.codes(fmt).bits <= 16:
                    yield (
                        f"decode/{name}/{to}",
                        "decode",
                        (fmt, result),
                        lambda e, f=fmt, r=result, c=codes: engine_run.run_decode(c, f, r, e),
                    )
            fmt, codes = self.get("format", name), codes_of(get("format", name), (40,), 1)
            yield f"amax/{name}", "amax", (fmt,), lambda _, f=fmt, c=codes: np.uint32(engine_run.run_amax(c, f))

    def conversions(self) -> Iterator[Question]:
        number = 0
        for name in SHIPPED["format"]:
            for mode in SHIPPED["rounding"]:
                for rules in SHIPPED["policy"]:
                    number += covers(rules, name)
                    if not covers(rules, name) or number % self.every:
                        continue
                    source = (*FLOATS, "e4m3", "ue5m3", "int8")[number % 7]
                    named = (("format", source), ("format", name), ("rounding", mode), ("policy", rules))
                    facts = tuple(self.get(*item) for item in named)
                    codes = codes_of(get("format", source), (48,), number)
                    random = random_for(facts[2], 3, codes.size)
                    yield (
                        f"convert/{source}/{name}/{mode}/{rules}",
                        "convert",
                        facts,
                        lambda e, f=facts, c=codes, r=random: engine_run.run_convert(c, *f, r, e),
                    )

    def transforms(self) -> Iterator[Question]:
        for name in SHIPPED["transform"]:
            for source in (*FLOATS, "e4m3"):
                chosen, fmt = self.get("transform", name), self.get("format", source)
                codes = codes_of(get("format", source), (2, 2 * chosen.facts.size), 2)
                yield (
                    f"transform/{name}/{source}",
                    "transform",
                    (chosen, fmt),
                    lambda e, t=chosen, f=fmt, c=codes: engine_run.run_transform(c, f, t, None, e),
                )

    def recipes(self) -> Iterator[Question]:
        for number, name in enumerate(SHIPPED["recipe"]):
            recipe: Recipe = self.get("recipe", name)
            source = FLOATS[number % 3]
            fmt = self.get("format", source)
            modes = [item.rounding for item in quantize_program(recipe).instructions if item.rounding is not None]
            rows, lanes = get("block", recipe.facts.block).facts.shape
            codes = codes_of(get("format", source), (min(rows, 16), 2 * min(lanes, 64)), 5)  # of a large tile a corner: the rest is padding
            random = next((random_for(mode, 3, codes.size) for mode in modes if mode.random_bits), None)
            operands = {} if random is None else {"random": random.reshape(codes.shape)}

            def ask(engine: str, recipe: Any = recipe, codes: Any = codes, fmt: Any = fmt, operands: Any = operands) -> Any:
                found, levels = engine_run.run_quantize(recipe, codes, fmt, engine=engine, **operands)
                return [found, *levels.values()]

            yield f"quantize/{name}/{source}", "quantize", (recipe, fmt), ask
            for profile in recipe.facts.dequantize:
                yield self.back(name, recipe, profile, FLOATS[(number + 1) % 3], codes, operands, source)

    def back(self, name: str, recipe: Any, profile: str, to: str, codes: Any, operands: Any, source: str) -> Question:
        result = self.get("format", to)
        given, levels = engine_run.run_quantize(get("recipe", name), codes, get("format", source), engine="exact", **operands)

        def ask(engine: str) -> Any:
            return engine_run.run_dequantize(recipe, given, levels, profile=profile, result=result, engine=engine)

        return f"dequantize/{name}/{profile}/{to}", "dequantize", (recipe, profile), ask

    def datapaths(self) -> Iterator[Question]:
        for name in SHIPPED["datapath"]:
            model = self.get("datapath", name)
            if not isinstance(model.facts, DatapathFacts) or "open" in model.facts.align.model_dump().values():
                continue
            for plan, shipped in islice(zip(plans_of(model), plans_of(name), strict=True), 0, None, 1 if self.every == 1 else 5):
                k = plan.facts.k
                a, b = (codes_of(fmt, (3, k), seed) for seed, fmt in enumerate((shipped.a, shipped.b)))
                scales = [None, None]
                if shipped.scale is not None:
                    room = (3, max(k // plan.block, 1))
                    scales = [np.clip(codes_of(shipped.scale, room, seed), 0x30, 0x48).astype(np.uint8) for seed in (7, 8)]
                    if derive.codes(shipped.scale).bits > 8:
                        scales = [codes_of(shipped.scale, room, seed) for seed in (7, 8)]
                c = codes_of(shipped.c, (3,), 9)
                yield (
                    f"dot/{shipped.name}",
                    "dot",
                    (plan,),
                    lambda e, p=plan, x=a, y=b, s=scales, z=c: engine_datapath.run_dot(x, y, s[0], s[1], z, p, e),
                )


def answer(operation: str, facts: tuple[Any, ...], ask: Callable[[str], Any]) -> list[Any]:
    """The engine under auto, and what each engine that can gives."""
    names = list(dict.fromkeys(row.engine for row in engine_table.TABLE if row.operation == operation and row.can(*facts)))
    return [engine_table.choose(operation, "auto", *facts), *([engine, outcome(lambda engine=engine: ask(engine))] for engine in names)]


def outcome(run: Callable[[], Any]) -> str:
    """A digest of the bits, or the kind of error."""
    try:
        found = run()
    except EmuError as error:
        return type(error).__name__
    arrays = found if isinstance(found, list) else [found]
    text = "|".join(f"{array.dtype} {array.shape} {array.tobytes().hex()}" for array in map(np.ascontiguousarray, arrays))
    return hashlib.sha256(text.encode("ascii")).hexdigest()[:16]


def main(folder: str, first: str, every: int) -> None:
    """Ask both, the first one first."""
    write_copies(Path(folder))
    load_spec(folder)
    pair = [Asker("", every), Asker(PREFIX, every)]
    order = (0, 1) if first == "original" else (1, 0)
    found: dict[str, list[Any]] = {}
    for both in zip(*(asker.questions() for asker in pair), strict=True):
        answers: list[Any] = [None, None]
        for number in order:
            _name, operation, facts, ask = both[number]
            try:
                answers[number] = answer(operation, facts, ask)
            except EmuError as error:
                answers[number] = [type(error).__name__]
        assert both[0][0] == both[1][0]
        found[both[0][0]] = answers
    json.dump(found, sys.stdout)


SHIPPED = {kind: names(kind) for kind in KINDS}

if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
