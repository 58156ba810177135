"""Datapaths of levels out of a seed, with every word of the language, and rows of codes for them: to ask two engines the same."""

from __future__ import annotations

import json
import math
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

from pydantic import ValidationError

from emu.base.errors import EmuError
from emu.spec import derive
from emu.spec.levels import LevelsPlan, check_levels, level_plans_of
from emu.spec.models import Datapath, Format
from emu.spec.models.format import FloatFacts
from emu.spec.models.levels import DatapathLevels
from emu.spec.registry import get

ELEMENTS = ("e2m1", "e1m2", "e4m3", "e5m2", "int8", "fp16", "bf16", "fp32", "e2m3", "e4m3fnuz")
REGISTERS = ("fp32", "bf16", "fp16", "e5m2")
PLAIN = ("rne", "rz", "rd", "ru", "rna", "odd")
RANDOM = ("sr_add8", "sr_add16", "sr_cmp8", "sr_half8")


class Row(NamedTuple):
    """Codes of one row, as the exact engine takes them."""

    a: list[int]
    b: list[int]
    scale_a: list[int]
    scale_b: list[int]
    c: int | None
    random: list[int]


def drawn_datapath(seed: int) -> Datapath:
    """Return a datapath of levels that the loader takes; the same for the same seed."""
    rng = Random(seed)
    base: Datapath = get("datapath", "bf16_register")
    while True:
        try:
            facts = DatapathLevels.model_validate(_words(rng))
            model = base.model_copy(update={"facts": facts, "id": f"drawn_{seed}"})
            check_levels(model)
            list(level_plans_of(model))
            return model
        except (ValidationError, EmuError, AssertionError):
            continue


def _maybe(rng: Random, chance: float, value: dict[str, Any]) -> dict[str, Any]:
    return value if rng.random() < chance else {}


def _rounding(rng: Random, draws: bool = True) -> str:
    return rng.choice((*PLAIN, *(RANDOM if draws and rng.random() < 0.4 else ())))


def _float(rng: Random) -> dict[str, Any]:
    fmt = rng.choice(REGISTERS)
    words: dict[str, Any] = {"format": fmt, "rounding": _rounding(rng)}
    if rng.random() < 0.1:
        return words | {"policy": rng.choice(("nvidia", "ocp_saturate") if fmt == "e5m2" else ("ieee", "nvidia"))}
    words |= _maybe(rng, 0.3, {"keep": rng.randint(0, 2 if fmt == "e5m2" else 7)})
    words |= _maybe(rng, 0.6, {"overflow": rng.choice(("inf", "ieee", "saturate"))})
    return words | _maybe(rng, 0.2, {"subnormals": "flush"})


def _hold(rng: Random, kinds: str) -> Any:
    """kinds: letters of exact, float, fixed (x) and cut."""
    kind = rng.choice(kinds)
    if kind == "e":
        return "exact"
    if kind == "f":
        return _float(rng)
    if kind == "x":
        unit = rng.choice(("derived", -rng.randint(0, 12), rng.randint(0, 3)))
        words = {"bits": rng.choice((2, 8, 12, 20, 24, 64, 65, 200, 512)), "unit_exp": unit}
        words["overflow"] = rng.choice(("saturate", "saturate_symmetric", "wrap", "sticky_inf", "error"))
        return words if unit == "derived" else words | {"rounding": _rounding(rng)}
    cut = {rng.choice(("significant_bits", "fraction_bits")): rng.randint(1, 30)}
    return cut | {"rounding": _rounding(rng)}


def _scaling(rng: Random) -> dict[str, Any]:
    return (
        _maybe(rng, 0.3, {"each": _float(rng)}) | _maybe(rng, 0.4, {"product": _float(rng)}) | _maybe(rng, 0.5, {"term": _hold(rng, "fc")})
    )


def _align(rng: Random, running: bool) -> dict[str, Any]:
    words: dict[str, Any] = {"fraction_bits": rng.choice(("derived", rng.randint(0, 40))), "cut": _rounding(rng, draws=False)}
    words |= _maybe(rng, 0.3, {"exponent": "normalised"}) | _maybe(rng, 0.3, {"exponent_raise": rng.randint(-3, 3)})
    words |= _maybe(rng, 0.4, {"floor": rng.choice(("derived", rng.randint(-140, 0)))})
    words |= _maybe(rng, 0.6, {"integer_bits": rng.choice(("derived", "none", rng.randint(0, 20)))}) | _maybe(rng, 0.3, {"beyond": "wrap"})
    if running and rng.random() < 0.4:
        own = {"fraction_bits": rng.randint(0, 40), "cut": _rounding(rng, draws=False)}
        words["running"] = own | _maybe(rng, 0.5, {"drop_below": rng.randint(0, 30)})
    return words


def _level(rng: Random, number: int, place: str) -> dict[str, Any]:
    """place: where C enters this level: start, plus or nothing."""
    add = rng.choice({"start": ("chain",), "plus": ("exact", "aligned")}.get(place, ("exact", "aligned", "chain", "pairwise")))
    words: dict[str, Any] = {"id": f"l{number}", "add": add, "hold": _hold(rng, "eeffxc")}
    if add == "chain":
        words |= {"start": "c" if place == "start" else rng.choice(("zero", "first"))} | _maybe(rng, 0.5, {"by": rng.randint(1, 3)})
    if place == "plus":
        words["plus"] = "c"
    if add == "aligned" or (add in ("chain", "pairwise") and rng.random() < 0.3):
        words["align"] = _align(rng, add == "chain" or place == "plus")
    return words | _maybe(rng, 0.3 if add != "chain" else 0, {"exponent": "largest"}) | _maybe(rng, 0.2, {"cancelled_counts": "no"})


def _words(rng: Random) -> dict[str, Any]:
    element, count = rng.choice(ELEMENTS), rng.randint(1, 4)
    scaled, entry = rng.random() < 0.4, rng.choice(("none", "start", "plus", "out"))
    everywhere = rng.randrange(count)
    levels = [_level(rng, i, entry if i == everywhere and entry != "out" else "none") for i in range(count)]
    for i, level in enumerate(levels):
        level["of"] = "all" if i == everywhere else rng.choice((1, 2, 2, 3, 4, *(("block",) if scaled else ())))
        level.update(_maybe(rng, 0.2, {"take": {"every": rng.randint(1, 3)}}))
    out = _float(rng) | ({"plus": "c"} if entry == "out" else {})
    words: dict[str, Any] = {
        "a": (element,), "b": (rng.choice((element, element, rng.choice(ELEMENTS))),),
        "c": "none" if entry == "none" else rng.choice((*REGISTERS, "int8")), "k": rng.choice((1, 2, 4, 6, 8, 12, 16)),
        "products": {"hold": _hold(rng, "eeefxc")}, "levels": tuple(levels), "out": out,
        "special": {
            "when": rng.choice(("once", "per_add")), "nan": "policy" if "policy" in out else "any",
            "nan_scale": rng.choice(("always", "live")), "zero": rng.choice(("plus", "ieee")),
        },
        "subnormal": {name: rng.choice(("keep", "flush")) for name in ("elements", "scales", "c")},
    }  # fmt: skip
    if scaled:
        words["scale"] = {
            "formats": rng.choice((("e8m0",), ("ue4m3",), ("ue4m3", "e8m0"))), "blocks": (rng.choice((1, 2, 4, 8)),),
            "unused_bits": rng.choice(("ignore", "open")),
        }  # fmt: skip
        rng.choice([words["products"], *levels[:everywhere]])["scale"] = _scaling(rng)
    return words


def _code(rng: Random, fmt: Format, style: int) -> int:
    """style 0: any code, also with unused bits set; 1: ordinary numbers; 2: those and what is special."""
    facts, codes = fmt.facts, derive.codes(fmt)
    bits = codes.bits
    if style == 0:
        return rng.getrandbits(bits + (derive.unused_high_bits(fmt) if rng.random() < 0.02 else 0))
    if style == 2 and rng.random() < 0.2:
        found = [0, 1, codes.max_code, codes.sign_bit, 1 | codes.sign_bit, codes.max_code | codes.sign_bit, *codes.nan[:2]]
        return rng.choice(found + ([codes.inf, codes.inf | codes.sign_bit] if codes.inf is not None else []))
    if not isinstance(facts, FloatFacts) or bits <= 8:
        code = rng.getrandbits(bits)
        return code if code not in codes.nan else 1
    field = (1 << (facts.exp_bits - 1)) - 1 + rng.randint(-4, 4)
    fraction = rng.getrandbits(facts.frac_bits) >> (spare := rng.randint(0, facts.frac_bits)) << spare
    return (codes.sign_bit if rng.getrandbits(1) else 0) | field << facts.frac_bits | fraction


def drawn_row(plan: LevelsPlan, rng: Random) -> Row | None:
    """Return a row of some instructions, or None where the levels do not cover it."""
    size = math.lcm(plan.facts.k, plan.block or 1)
    k, style, cancels = size * rng.randint(1, 3), rng.randrange(3), rng.random() < 0.2
    try:
        plan.shape(k)
        draws = plan.draws(k)
    except EmuError:
        return None
    a, b = ([_code(rng, fmt, style) for _ in range(k)] for fmt in (plan.a, plan.b))
    if cancels:  # neighbours of opposite signs
        sign = derive.codes(plan.a).sign_bit
        a, b = [a[i & ~1] ^ (sign if i & 1 else 0) for i in range(k)], [b[i & ~1] for i in range(k)]
    scales = [[_code(rng, plan.scale, style) for _ in range(k // plan.block)] if plan.scale else [] for _ in range(2)]
    c = None if plan.c is None else _code(rng, plan.c, style)
    tops = [(1 << draw.rounding.random_bits) - 1 for draw in draws]
    return Row(a, b, scales[0], scales[1], c, [rng.choice((0, top, rng.randint(0, top))) for top in tops])


def write_datapath(model: Datapath, folder: Path) -> Path:
    """Write a drawn datapath as the file of a user, under folder/datapath."""
    sources = [{"ref": "emu", "where": "drawn"}]
    facts = model.facts.model_dump(mode="json", exclude_defaults=True)
    data = {"kind": "datapath", "id": model.id, "title": "Drawn", "status": "proposed", "facts": facts}
    path = folder / "datapath" / f"{model.id}.yaml"
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = [f"{key}: {_flow(value)}" for key, value in (data | {"open": [], "sources": sources}).items()]
    path.write_text("\n".join(lines) + "\n", encoding="ascii")
    return path


def _flow(value: Any) -> str:
    """A value as the strict loader reads it: bare keys, quoted texts."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}: {_flow(item)}" for key, item in value.items()) + "}"
    return "[" + ", ".join(map(_flow, value)) + "]" if isinstance(value, list) else json.dumps(value)
