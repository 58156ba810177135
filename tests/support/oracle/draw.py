"""Users' datapaths out of a seed, as YAML, whose numbers reach far: tiny and huge units, biases, raised exponents, registers."""

from __future__ import annotations

from random import Random
from typing import Any

from support.oracle.levels import Facts, decode

ABOUT: Facts = {"title": "drawn by a test", "status": "proposed", "sources": []}
FAR = (0, 0, 0, 10, 30, 49, 50, 58, 60, 62, 64, 66, 70, 74, 75, 80, 100, 126, 130, 149, 200, 260, 298, 301, 440, 450, 500, 510, 520, 890)
EDGES = (-1021, -899, -610, -600, -599, -149, -126, -100, -99, 116, 126, 127, 128, 140, 590, 890, 899, 901, 1000, 1021, 1030)
CUTS = ("rz", "rz", "rd", "rne", "ru", "rna", "odd")
MODES = ("rz", "rne", "rd", "ru", "rna", "odd")
RESULTS = {"fp32": 23, "fp16": 10, "bf16": 7}


def drawn(seed: int) -> tuple[list[Facts], Facts]:
    """Return YAML documents of two elements, a scale and a datapath `far_SEED`, and its facts; many of them cannot be."""
    rng = Random(seed)
    place = rng.choice((1, -1)) * rng.choice(FAR)
    other = rng.choice((place, -place, 0, rng.choice((1, -1)) * rng.choice(FAR)))
    formats = {f"far_a{seed}": _element(rng, place), f"far_b{seed}": _element(rng, other), f"far_s{seed}": _scale(rng)}
    kind = rng.choice((_aligned, _aligned, _aligned, _exact, _late, _parts, _register, _promote, _free, _free))
    facts = kind(rng, *formats)
    for words in (level["align"] for level in facts["levels"] if "exponent_raise" in level.get("align", {})):
        if rng.random() < 0.3:  # E near an edge
            words["exponent_raise"] = rng.choice(EDGES) - place - other + rng.randint(-3, 3)
    made = [{"kind": "format", "id": name, **ABOUT, "facts": item} for name, item in formats.items()]
    return [*made, {"kind": "datapath", "id": f"far_{seed}", **ABOUT, "facts": facts}], facts


def _element(rng: Random, place: int) -> Facts:
    if rng.random() < 0.4:
        bits = rng.randint(2, 9)
        return {"class": "integer", "signed": rng.choice(("twos_complement", "sign_magnitude")), "bits": bits, "unit_exp": place}
    exp_bits, frac_bits = rng.randint(2, 9), rng.randint(1, 6)
    ieee = rng.random() < 0.25
    bias = (1 << (exp_bits - 1)) - 1 - place
    return {"class": "float", "signed": "yes", "exp_bits": exp_bits, "frac_bits": frac_bits, "bias": bias, "subnormals": "yes",
            "inf": "ieee" if ieee else "none", "nan": "ieee" if ieee else "none", "neg_zero": "yes"}  # fmt: skip


def _scale(rng: Random) -> Facts:
    place = rng.choice((1, -1)) * rng.choice(FAR)
    if rng.random() < 0.5:
        return {"class": "exponent", "signed": "no", "bits": rng.choice((3, 5, 8)), "bias": 60 - place, "nan": "none"}
    exp_bits, frac_bits = rng.randint(2, 5), rng.randint(0, 3)
    return {"class": "float", "signed": "no", "exp_bits": exp_bits, "frac_bits": frac_bits, "bias": (1 << (exp_bits - 1)) - 1 - place,
            "subnormals": "yes", "inf": "none", "nan": [f"0x{(1 << (exp_bits + frac_bits)) - 1:02X}"], "neg_zero": "no"}  # fmt: skip


def _held(rng: Random, fmt: str, **more: Any) -> Facts:
    held = {"format": fmt, "rounding": rng.choice(MODES), "overflow": rng.choice(("inf", "inf", "saturate", "ieee"))} | more
    held |= {"subnormals": "flush"} if rng.random() < 0.1 else {}
    return held | ({"keep": rng.randint(1, RESULTS[fmt])} if rng.random() < 0.15 else {})


def _frame(rng: Random, a: str, b: str, s: str, scaled: bool) -> Facts:
    facts: Facts = {"a": [a], "b": [b], "c": "fp32", "k": rng.choice((4, 8))}
    facts |= {"scale": {"formats": [s], "blocks": [4]}} if scaled else {}
    facts |= {"special": {"when": "once", "nan": "any", "zero": "plus", "nan_scale": rng.choice(("always", "live"))}}
    if rng.random() < 0.1:
        facts["subnormal"] = {rng.choice(("elements", "scales", "c")): "flush"}
    return facts


def _align(rng: Random) -> Facts:
    words: Facts = {"fraction_bits": rng.choice((0, 2, 6, 10, 10, 13, 25, 35, 45)), "cut": rng.choice(CUTS), "integer_bits": "derived"}
    words |= {
        "exponent_raise": rng.choice((0, 0, 0, 1, -1, 2, -3, 20, -20, 9000)),
        "floor": rng.choice(("none", "none", "derived", -120, -700, 60, 700)),
    }
    words |= {"exponent": "normalised"} if rng.random() < 0.2 else {}
    words |= {"beyond": "wrap"} if rng.random() < 0.2 else {}
    words |= {"integer_bits": rng.randint(0, 8)} if words.get("beyond") and rng.random() < 0.5 else {}
    words |= {"fraction_bits": "derived"} if rng.random() < 0.1 else {}
    return words


def _lots(rng: Random, facts: Facts) -> list[Facts]:
    """What comes before the chain: groups under block scales, or scaled products."""
    if "scale" not in facts:
        return []
    if rng.random() < 0.5:
        facts["products"] = {"scale": {}}
        return []
    counts = {"cancelled_counts": "no"} if rng.random() < 0.3 else {}
    return [{"id": "grp", "of": rng.choice((2, 4)), "add": "exact", "scale": {}} | counts]


def _chain(rng: Random, facts: Facts, lots: list[Facts], **more: Any) -> Facts:
    facts["c"] = rng.choice(("fp32", "fp32", "fp32", "fp16", "bf16"))
    by = rng.choice((1, facts["k"] // (lots[0]["of"] if lots else 1)))
    facts["levels"] = [*lots, {"id": "k", "of": "all", "add": "chain", "by": by, "start": "c", "hold": _held(rng, facts["c"])} | more]
    facts["out"] = {"format": facts["c"]}
    return facts


def _aligned(rng: Random, a: str, b: str, s: str) -> Facts:
    facts = _frame(rng, a, b, s, rng.random() < 0.35)
    return _chain(rng, facts, _lots(rng, facts), align=_align(rng))


def _exact(rng: Random, a: str, b: str, s: str) -> Facts:
    facts = _frame(rng, a, b, s, rng.random() < 0.5)
    return _chain(rng, facts, _lots(rng, facts))


def _late(rng: Random, a: str, b: str, s: str) -> Facts:
    facts = _chain(rng, _frame(rng, a, b, s, False), [])
    last = facts["levels"][0]
    facts["levels"] = [{"id": "step", "of": last.pop("by"), "add": "exact", "hold": last["hold"]}, last]
    return facts


def _parts(rng: Random, a: str, b: str, s: str) -> Facts:
    facts, bits = _frame(rng, a, b, s, False), rng.choice((2, 8, 13, 24))
    first = {"fraction_bits": bits, "integer_bits": "none"}
    running = {"fraction_bits": bits, "cut": "rd", "drop_below": rng.choice((1, 10, 25))}
    align = {"fraction_bits": bits + rng.choice((0, 1, 7)), "integer_bits": "none", "cut": "rd", "floor": -126, "running": running}
    facts["levels"] = [
        {"id": "part", "of": 2, "take": {"every": 2}, "add": "aligned", "align": first | {"cut": "rz"}},
        {"id": "join", "of": 2, "add": "aligned", "align": first | {"cut": "rd"}},
        {"id": "k", "of": "all", "add": "chain", "start": "c", "align": align, "hold": _held(rng, "fp32")},
    ]
    return facts | {"out": {"format": "fp32"}}


def _register(rng: Random, a: str, b: str, s: str) -> Facts:
    facts = _frame(rng, a, b, s, rng.random() < 0.3)
    lots = _lots(rng, facts)
    hold = {"bits": rng.choice((24, 32, 53, 64, 100)), "unit_exp": "derived", "overflow": "error"}
    facts["levels"] = [*lots, {"id": "k", "of": "all", "add": "chain", "start": "zero", "hold": hold}]
    return facts | {"out": {"format": "fp32", "rounding": rng.choice(MODES), "plus": "c"}}


def _promote(rng: Random, a: str, b: str, s: str) -> Facts:
    facts = _frame(rng, a, b, s, False) | {"scale": {"formats": ["fp32"], "blocks": [4]}}
    plain = {"format": "fp32", "overflow": "ieee"}
    term = "exact" if rng.random() < 0.3 else plain | {"rounding": rng.choice(MODES)}
    scale = {"product": plain | {"rounding": rng.choice(MODES)}, "term": term}
    facts["special"] |= {"when": "per_add", "zero": rng.choice(("plus", "ieee"))}
    facts["levels"] = [
        {"id": "blk", "of": "block", "add": "exact", "scale": scale},
        {"id": "k", "of": "all", "add": "chain", "start": "c", "hold": plain | {"rounding": rng.choice(MODES)}},
    ]
    return facts | {"out": {"format": "fp32"}}


def _free(rng: Random, a: str, b: str, s: str) -> Facts:
    """Levels that are no step."""
    facts = _frame(rng, a, b, s, rng.random() < 0.4)
    facts["special"] |= {"when": rng.choice(("once", "per_add")), "zero": rng.choice(("plus", "ieee"))}
    lots = _lots(rng, facts)
    if rng.random() < 0.4:
        facts["products"] = facts.get("products", {}) | {"hold": _any_hold(rng)}
    if rng.random() < 0.5:
        add = rng.choice(("exact", "aligned", "pairwise"))
        level = {"id": "two", "of": 2, "add": add, "hold": _any_hold(rng)} | ({"align": _align(rng)} if add == "aligned" else {})
        level |= {"exponent": "largest"} if add == "exact" and rng.random() < 0.5 else {}
        lots = lots or [level]
    last: Facts = {"id": "k", "of": "all", "add": rng.choice(("chain", "chain", "pairwise", "exact", "aligned"))}
    last["hold"] = _any_hold(rng) if rng.random() < 0.7 else "exact"
    where = rng.choice(("start", "plus", "out", "none"))
    if last["add"] == "chain":
        last |= {"start": "c" if where == "start" else rng.choice(("zero", "first")), "by": rng.choice((1, 2))}
        where = "out" if where == "plus" else where
    elif where in ("start", "plus"):
        where = "out" if last["add"] == "pairwise" else "plus"
        last |= {"plus": "c"} if where == "plus" else {}
    aligns = last["add"] == "aligned" or (last["add"] in ("chain", "pairwise") and rng.random() < 0.4)
    last |= {"align": _align(rng)} if aligns else {}
    if aligns and last["add"] == "chain" and rng.random() < 0.3:
        last["align"] |= {"running": {"fraction_bits": rng.choice((2, 9, 30)), "cut": rng.choice(CUTS), "drop_below": rng.choice((1, 20))}}
    facts["c"] = "none" if where == "none" else rng.choice(("fp32", "fp16"))
    facts["levels"] = [*lots, last]
    facts["out"] = {"format": "fp32", "rounding": rng.choice(MODES), "overflow": rng.choice(("inf", "ieee"))}
    return facts | ({"out": facts["out"] | {"plus": "c"}} if where == "out" else {})


def _any_hold(rng: Random) -> Any:
    kind = rng.choice(("exact", "float", "float", "fixed", "fixed", "cut"))
    if kind == "exact":
        return kind
    if kind == "float":
        return _held(rng, rng.choice(("fp32", "fp32", "bf16", "fp16")))
    if kind == "cut":
        return {rng.choice(("significant_bits", "fraction_bits")): rng.choice((1, 4, 12, 24)), "rounding": rng.choice(MODES)}
    unit = rng.choice(("derived", *(rng.choice((1, -1)) * far for far in FAR)))
    words = {"bits": rng.choice((2, 8, 20, 32, 50, 64, 65, 200)), "unit_exp": unit}
    words["overflow"] = rng.choice(("saturate", "saturate_symmetric", "wrap", "sticky_inf", "error"))
    return words | ({} if unit == "derived" else {"rounding": rng.choice(MODES)})


def codes(rng: Random, fmt: Facts, count: int, *, special: bool) -> list[int]:
    """Return codes of a format: zeros, both ends, the middle, any. special: NaN and infinity too."""
    bits = fmt["bits"] if fmt["class"] != "float" else fmt["exp_bits"] + fmt["frac_bits"] + (fmt["signed"] == "yes")
    signed = fmt["class"] != "exponent" and fmt["signed"] != "no"
    top = 1 << (bits - signed)
    out: list[int] = []
    small = rng.random() < 0.3
    while len(out) < count:
        ends = (0, 0, 1, 2, top - 1, top - 2, top // 2, rng.randrange(top), rng.randrange(top), rng.randrange(top))
        code = rng.choice(ends[:4] if small and rng.random() < 0.7 else ends) | (rng.getrandbits(1) << (bits - 1) if signed else 0)
        if code >> bits == 0 and (special or not decode(fmt, code).special):
            out.append(code)
    return out


def row(rng: Random, files: dict[str, Facts], facts: Facts) -> tuple[list[list[int]], int | None]:
    """Return codes of A, B and scales of one row, half of them with products that cancel, and C."""
    k, special = facts["k"] * rng.choice((1, 1, 2)), rng.random() < 0.15
    operands = [codes(rng, files[facts[name][0]], k, special=special) for name in "ab"]
    for place in range(1, k, 2):
        if rng.random() < 0.4:  # the neighbour again; of the other sign where the sign is a bit
            fmt = files[facts["a"][0]]
            flip = 1 << (fmt["bits"] - 1 if fmt["class"] == "integer" else fmt["exp_bits"] + fmt["frac_bits"])
            flip = 0 if fmt.get("signed") == "twos_complement" else flip
            operands[0][place], operands[1][place] = operands[0][place - 1] ^ flip, operands[1][place - 1]
        elif rng.random() < 0.3:
            operands[0][place] = 0
    scales = facts["scale"]["formats"] * 2 if "scale" in facts else []
    operands += [codes(rng, files[name], k // facts["scale"]["blocks"][0], special=special) for name in scales]
    return operands, None if facts["c"] == "none" else codes(rng, files[facts["c"]], 1, special=special)[0]
