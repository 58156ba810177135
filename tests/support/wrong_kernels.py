"""Wrong quantizers made from a contract: one step an ulp off on some inputs, one fact changed, one index rule, one shape rule.

Each is the recipe's own program but for one thing, so that nothing else can betray it. `made` lists those of a recipe; `named_tensors` are
the tensors on which a wrong kernel counts as wrong: none of them is an input of a check.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache

import numpy as np

from emu.check.run import _Checker
from emu.check.targets.python import python_target
from emu.contracts import form_of
from emu.contracts.form import expect, integer_dtype
from emu.contracts.quantize.contract import _rounded, _ruled
from emu.engines.numpy.block import quantize, to_values
from emu.engines.numpy.program import Machine
from emu.engines.run import run_amax
from emu.spec import derive, get
from emu.spec.programs.lowering import LoweredStep, lower
from emu.spec.programs.types import TENSOR

RATES = (2, 8, 32, 128)  # an ulp off on one of so many inputs
SIZES = (16, 32, 64, 128, 256, 512, 1024)
Answers = dict[str, np.ndarray]


@dataclass(frozen=True)
class Wrong:
    """A wrong kernel. kind: ulp, fact, index or shape.   kernel: raw codes of x and the operands by name -> answers by name."""

    name: str
    kind: str
    contract: str
    kernel: Callable[..., Answers]
    source: str = "fp32"

    def target(self):
        """Return it as a target."""
        names = tuple(name for name in form_of(self.contract).answers if name != "tensor")
        kernel = _with_operands(self.kernel, form_of(self.contract).extras)
        return python_target(kernel, self.contract, takes="numpy.bits", source=self.source, name=self.name,
                             gives={name: name for name in names}, wants=form_of(self.contract).extras)  # fmt: skip


def _with_operands(kernel, extras):
    def called(x, tensor_amax=None, random=None, signs=None):
        given = {"tensor_amax": tensor_amax, "random": random, "signs": signs}
        return kernel(x, **{name: given[name] for name in extras})

    return called


def right(recipe: str, source: str) -> Callable[..., Answers]:
    """Return the contract as a kernel."""
    form = form_of(f"quantize/{recipe}", source)

    def kernel(x, **given):
        x = np.ascontiguousarray(x)
        operands = {"x": x} | {name: np.asarray(value) for name, value in given.items() if value is not None}
        found = expect(form, operands, "auto").arrays
        return {name: found[name] for name in found if name != "tensor"}

    return kernel


# One arithmetic step an ulp off.


class Off(Machine):
    """The program, its answer to one step moved by an ulp on one of `rate` inputs, chosen by a hash of the arguments."""

    fault = ("", 1, 0, 1)  # step, rate, seed, direction

    def step(self, item):
        found = super().step(item)
        name, rate, seed, direction = self.fault
        if item.out != name:
            return found
        mixed = np.full(found.shape, seed * 0x9E3779B1 & 0xFFFFFFFF, np.uint32)
        for arg in item.args if item.op not in ("amax", "sum", "transform") else ():
            value = np.broadcast_to(self.value(arg, item.type.extent), found.shape)
            mixed = (mixed ^ np.ascontiguousarray(value).view(np.uint32)) * np.uint32(0x85EBCA6B)
            mixed ^= mixed >> np.uint32(13)
        if item.op in ("amax", "sum", "transform"):
            mixed = (mixed ^ np.ascontiguousarray(found).view(np.uint32)) * np.uint32(0x85EBCA6B)
            mixed ^= mixed >> np.uint32(13)
        bits = np.ascontiguousarray(found).view(np.uint32)
        moved = (mixed % np.uint32(rate) == 0) & (bits & 0x7FFFFFFF > 1) & (bits & 0x7FFFFFFF < 0x7F7FFFFF)
        return np.where(moved, bits + np.uint32(direction % (1 << 32)), bits).view(np.float32)


def off_by_an_ulp(recipe_id: str, source_id: str, step: str, rate: int, seed: int, direction: int) -> Callable[..., Answers]:
    """Return a recipe of tiles of one row whose step is off."""
    recipe, source = get("recipe", recipe_id), get("format", source_id)
    form = form_of(f"quantize/{recipe_id}", source_id)
    plan, program = lower(form.operation.program), form.operation.program
    steps = tuple(LoweredStep(item) for item in program.instructions)
    plan = replace(plan, once=tuple(s for s in steps if s.item.type.extent == TENSOR),
                   each=tuple(s for s in steps if s.item.type.extent != TENSOR))  # fmt: skip
    tall, wide = form.operation.block.facts.shape
    kind = type("Fault", (Off,), {"fault": (step, rate, seed, direction)})

    def kernel(x, tensor_amax=None, random=None, signs=None):
        x = np.ascontiguousarray(x)
        if not x.size:
            raise ValueError("no rows")
        height, width = (-(-size // part) * part for size, part in zip(x.shape, (tall, wide), strict=True))
        padded = np.zeros((height, width), x.dtype)
        padded[: x.shape[0], : x.shape[1]] = x
        shape = (height // tall, tall, width // wide, wide)
        cells = {}
        if program.reads("tensor_amax"):
            amax = run_amax(x, source) if tensor_amax is None else int(tensor_amax)
            cells["tensor_amax"] = np.array([amax], np.uint32).view(np.float32).reshape(1, 1, 1, 1)
        cells = dict(kind(plan, cells, None if signs is None else int(signs)).run(plan.once))
        cells["x"] = to_values(padded, source).reshape(shape)
        found = kind(plan, cells, None if signs is None else int(signs)).run(plan.each)
        out = {"codes": np.broadcast_to(found[program.outputs["codes"]], shape).reshape(height, width)}
        if recipe.facts.tail == "zero_pad_drop":
            out["codes"] = out["codes"][: x.shape[0], : x.shape[1]]
        for level in form.operation.block.facts.levels:
            if level.granularity == "tensor":
                continue
            array = np.ascontiguousarray(found[program.outputs[level.name]])
            array = array.view(np.uint32) if array.dtype == np.float32 else array
            rows = array.shape[0] * array.shape[1]
            out[level.name] = array.reshape(rows, -1)
        return {name: _plain(array, form.answers[name]) for name, array in out.items()}

    return kernel


def _plain(codes, fmt):
    """Return codes without the markers of those that nobody knows: some code, which is not compared."""
    return (codes & codes.dtype.type((1 << derive.codes(fmt).bits) - 1)).astype(integer_dtype(fmt))


# One fact changed.


def other_recipe(recipe, source_id: str) -> Callable[..., Answers]:
    """Return a changed recipe as a kernel."""
    source, form = get("format", source_id), form_of(f"quantize/{recipe.id}", source_id)

    def kernel(x, **given):
        found = quantize(recipe, np.ascontiguousarray(x), source, masked=True,
                         **{name: int(value) for name, value in given.items() if value is not None})  # fmt: skip
        arrays = {"codes": found.codes, **{name: array for name, array in found.levels.items() if name != "tensor"}}
        return {name: _plain(array, form.answers[name]) for name, array in arrays.items()}

    return kernel


# One index rule, or one rule of shapes: what goes in or comes out of the right kernel is moved.


def index_rules(wide: int) -> Iterator[tuple[str, Callable]]:
    """Yield (name, rule). A rule takes the right kernel, x and its operands."""

    def lane_dropped(lane, every):
        def rule(kernel, x, given):
            first, blocks = kernel(x, **given), -(-x.shape[1] // wide)
            less = x.copy()
            columns = np.arange(lane, x.shape[1], wide)
            less[:, columns[(columns // wide) % every == every - 1]] = 0
            second = kernel(less, **given)
            there = np.zeros(blocks, bool)
            there[every - 1 :: every] = True
            out = {name: array.copy() for name, array in first.items()}
            for name in first:
                if name != "codes" and first[name].shape == (len(x), blocks):
                    out[name][:, there] = second[name][:, there]
            return out

        return rule

    def scale_of(shift, every):
        def rule(kernel, x, given):
            out = kernel(x, **given)
            scale = out["scale"]
            moved = np.roll(scale, shift, axis=1)
            chosen = np.arange(scale.shape[1]) % every == every - 1
            return out | {"scale": np.where(chosen, moved, scale)}

        return rule

    def exchanged(one, other, every):
        def rule(kernel, x, given):
            out = kernel(x, **given)
            codes = out["codes"].copy()
            starts = np.arange(0, codes.shape[1] - wide + 1, wide)[every - 1 :: every]
            codes[:, starts + one], codes[:, starts + other] = out["codes"][:, starts + other], out["codes"][:, starts + one]
            return out | {"codes": codes}

        return rule

    for every in (1, 2, 4):
        for lane in (0, 1, wide // 2, wide - 1):
            yield f"block maximum without lane {lane}, one block of {every}", lane_dropped(lane, every)
        yield f"scale of the next block, one of {every}", scale_of(-1, every)
        yield f"scale of the block before, one of {every}", scale_of(1, every)
        for one, other in ((0, 1), (wide - 2, wide - 1), (0, wide - 1), (wide // 2 - 1, wide // 2)):
            yield f"lanes {one} and {other} exchanged, one block of {every}", exchanged(one, other, every)


def shape_rules(wide: int) -> Iterator[tuple[str, Callable]]:  # noqa: C901 - a list of small faults
    """Yield (name, rule) of wrong shapes, borders, layouts and memory."""

    def forgotten(axis, size):
        def rule(kernel, x, given):
            out = kernel(x, **given)
            codes = out["codes"].copy()
            codes[(slice(None), slice(size, None))[:: 1 if axis else -1]] = 0
            return out | {"codes": codes}

        return rule

    def when(test, fault):
        def rule(kernel, x, given):
            out = kernel(x, **given)
            return fault(out) if x.size and test(*x.shape) else out

        return rule

    def zero_last(out):
        codes = out["codes"].copy()
        codes[:, -min(wide, codes.shape[1]) :] = 0
        return out | {"codes": codes}

    def zero_last_row(out):
        return out | {"codes": np.concatenate([out["codes"][:-1], 0 * out["codes"][-1:]])}

    def first_scale(out):
        return out | {"scale": np.where(np.arange(out["scale"].shape[1]) == out["scale"].shape[1] - 1, out["scale"][:, :1], out["scale"])}

    def over_row_ends(kernel, x, given):
        if x.shape[1] % wide == 0 or not x.size:
            return kernel(x, **given)
        flat = np.zeros(-(-x.size // wide) * wide, x.dtype)
        flat[: x.size] = x.reshape(-1)
        out = kernel(flat.reshape(-1, wide), **{**given, **({"random": None} if "random" in given else {})})
        blocks = -(-x.shape[1] // wide)
        scale = np.resize(out["scale"].reshape(-1), (x.shape[0], blocks))
        return {"codes": out["codes"].reshape(-1)[: x.size].reshape(x.shape), "scale": scale}

    def junk_in_the_padding(kernel, x, given):
        more = -x.shape[1] % wide
        junk = np.concatenate([x, np.repeat(x.max(axis=1, initial=1)[:, None], more, axis=1)], axis=1)
        out = kernel(np.ascontiguousarray(junk), **given)
        return {"codes": out["codes"][:, : x.shape[1]], "scale": out["scale"]}

    def in_memory_order(kernel, x, given):
        base = x.base if x.base is not None and x.base.ndim > 1 else x
        while base.base is not None and base.base.ndim > 1:
            base = base.base
        flat = np.resize(base.reshape(-1), x.size).reshape(x.shape) if base.size >= x.size else x
        return kernel(np.ascontiguousarray(flat), **given)

    def stale():
        kept: dict = {}

        def rule(kernel, x, given):
            out = kernel(x, **given)
            old = kept.get(x.shape[1])
            kept[x.shape[1]] = out["codes"]
            if old is None or x.shape[0] < 2:
                return out
            codes = out["codes"].copy()
            codes[-1] = old[-1]
            return out | {"codes": codes}

        return rule

    def not_written(test):
        room = np.full(1 << 24, 0, np.uint8)  # used again and again, as a workspace on a device is

        def rule(kernel, x, given):
            out = kernel(x, **given)
            codes = room[: out["codes"].size].reshape(out["codes"].shape)
            here = test(*np.indices(codes.shape, sparse=True), *codes.shape)
            np.copyto(codes, out["codes"], where=np.broadcast_to(~np.asarray(here), codes.shape))
            return out | {"codes": codes}

        return rule

    for size in SIZES:
        yield f"columns from {size} on forgotten", forgotten(1, size)
        yield f"rows from {size} on forgotten", forgotten(0, size)
        yield f"last block zero beyond {size} columns with a tail", when(lambda r, c, s=size: c > s and c % wide, zero_last)
        yield f"last row zero when one past a multiple of {size}", when(lambda r, c, s=size: r > s and r % s == 1, zero_last_row)
        yield f"last scale is the first for {size} columns and more", when(lambda r, c, s=size: c >= max(s, 2 * wide), first_scale)
    yield "last block zero when the blocks are odd", when(lambda r, c: -(-c // wide) % 2 == 1 and c > wide, zero_last)
    yield "last block zero when the blocks are even", when(lambda r, c: -(-c // wide) % 2 == 0, zero_last)
    yield "one block alone is zero", when(lambda r, c: c <= wide, zero_last)
    yield "a single row is zero", when(lambda r, c: r == 1, zero_last_row)
    yield "an odd row is zero", when(lambda r, c: r % 2 == 1 and r > 1, zero_last_row)
    yield "a tail of several rows", when(lambda r, c: r > 1 and c % wide, zero_last)
    yield "a tail of odd length", when(lambda r, c: c % 2 == 1, zero_last)
    yield "more than 65535 rows", when(lambda r, c: r > 65535, zero_last_row)
    yield "more than 65535 blocks", when(lambda r, c: -(-c // wide) > 65535, zero_last)
    yield "blocks run on over row ends", over_row_ends
    yield "junk in the padding", junk_in_the_padding
    yield "strides are not read", in_memory_order
    yield "an answer of the last call", stale()
    yield "the last column is not written", not_written(lambda r, c, rows, columns: (c == columns - 1) & (columns % 2 == 1))
    yield "the last row is not written", not_written(lambda r, c, rows, columns: (r == rows - 1) & (rows > 2))
    yield "the last tile of 128 rows is not written", not_written(lambda r, c, rows, columns: (r >= rows // 128 * 128) & (rows > 128))


def ruled(recipe: str, source: str, rule: Callable) -> Callable[..., Answers]:
    """Return the right kernel under a rule."""
    kernel = right(recipe, source)
    return lambda x, **given: rule(kernel, x, {name: value for name, value in given.items() if value is not None})


@cache
def made(recipe_id: str, source: str = "fp32", seed: int = 0) -> tuple[Wrong, ...]:
    """Return the wrong kernels of a recipe of tiles of one row. seed: of the inputs on which a step is off."""
    contract, recipe = f"quantize/{recipe_id}", get("recipe", recipe_id)
    form = form_of(contract, source)
    found = []
    for item in form.operation.program.instructions:
        if item.type.is_code or item.op in ("select", "min", "max", "clamp", "decode"):
            continue  # they choose among numbers, or are exact: an ulp there is an ulp of their argument
        for rate in RATES:
            for direction in (1, -1):
                name = f"{item.out} an ulp {'high' if direction > 0 else 'low'} on 1 of {rate}, seed {seed}"
                found.append(Wrong(name, "ulp", contract, off_by_an_ulp(recipe_id, source, item.out, rate, seed, direction), source))
    if seed == 0:
        seen = {recipe.facts_digest}
        for text, stage, changed in (*_rounded(recipe), *_ruled(recipe)):
            if changed.facts_digest not in seen:
                seen.add(changed.facts_digest)
                found.append(Wrong(f"{stage}: {text}", "fact", contract, other_recipe(changed, source), source))
        wide = form.operation.block.facts.shape[1]
        if recipe.facts.tail != "error":
            for kind, rules in (("index", index_rules), ("shape", shape_rules)):
                found += [Wrong(name, kind, contract, ruled(recipe_id, source, rule), source) for name, rule in rules(wide)]
    return tuple(found)


# Judging them.


class _Caught(Exception):
    """A difference was found."""


class _Quick(_Checker):
    """A check that stops at the first difference: nothing is shrunk."""

    def ask(self, suite, question):
        super().ask(suite, question)
        if self.report.differing:
            raise _Caught


def verdict(wrong: Wrong, target=None, key: int = 1, suites=("decisions", "shapes", "stratified", "directed", "exhaustive")) -> str:
    """Return the verdict of a whole check, its suites in an order that finds differences early."""
    target = target or wrong.target()
    checker = _Quick(target, form_of(wrong.contract, wrong.source), None, (1, 1))
    try:
        return checker.run(suites, None, key).verdict
    except _Caught:
        return "differs"


def named_tensors(source: str, size: int = 10**6) -> Iterator[tuple[str, np.ndarray]]:
    """Yield ten named tensors of a model and its training, as codes of a source."""
    from emu.arrays.values import float_dtype

    makers = {
        "embedding": lambda g, n: g.normal(0, 0.02, n),
        "attention weight": lambda g, n: g.normal(0, 0.05, n),
        "expert weight": lambda g, n: g.standard_t(4, n) * 0.03,
        "activation": lambda g, n: g.normal(0, 1, n),
        "activation with outliers": lambda g, n: g.normal(0, 1, n) * np.where(g.random(n) < 1e-3, 60, 1),
        "gelu": lambda g, n: np.maximum(g.normal(0, 1.5, n), -0.17),
        "gradient": lambda g, n: g.normal(0, 1e-4, n),
        "gradient, heavy": lambda g, n: g.standard_t(2, n) * 1e-6,
        "logits": lambda g, n: g.normal(0, 8, n),
        "uniform": lambda g, n: g.uniform(-1, 1, n),
    }
    fmt = float_dtype(get("format", source))
    for number, (name, maker) in enumerate(makers.items()):
        values = maker(np.random.default_rng(1000 + number), size).astype(np.float32).astype(fmt)
        yield name, values.view(f"u{fmt.itemsize}")


def seen_in(wrong: Wrong, size: int = 10**6) -> str:
    """Return the first named tensor on which a kernel is wrong, "" for none of them."""
    form = form_of(wrong.contract, wrong.source)
    reference = right(wrong.contract.partition("/")[2], wrong.source)
    wide = 4 * form.operation.block.facts.shape[1]
    for name, whole in named_tensors(wrong.source, size):
        x = np.ascontiguousarray(whole[: whole.size // wide * wide].reshape(-1, wide))
        given = {"tensor_amax": run_amax(x, form.operation.source)} if form.operation.reads_amax else {}
        given |= {"signs": 0x391A} if "signs" in form.extras else {}
        want, got = reference(x, **given), wrong.kernel(x, **given)
        if any(not np.array_equal(want[key], got[key]) for key in got):
            return name
    return ""


__all__ = ["Wrong", "made", "named_tensors", "off_by_an_ulp", "right", "seen_in", "verdict"]
