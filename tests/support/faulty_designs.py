"""Small designs written a second time, in plain integers and NumPy, each with named wires on which a fault can be put.

They share nothing with the engines and nothing with the deviations that `emu explain mismatch` tries: a fault here is another choice of the
design (`choice`) or an edit of one wire (`wire`): a bit that is stuck, a register that is too narrow, a number one off. `answer` gives the
lanes of every output column of a row.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from random import Random
from typing import Any

import numpy as np

Lanes = dict[str, list[int]]  # column -> codes, lane 0 first
f32 = np.float32


@dataclass(frozen=True)
class Fault:
    """One thing that is wrong. choice: other choices of the design.   wire, kind, n: an edit of a wire; lane: of one lane alone."""

    choice: Mapping[str, Any] = field(default_factory=dict)
    wire: str = ""
    kind: str = ""
    n: int = 0
    lane: int | None = None

    def words(self) -> str:
        """Return it in words."""
        if not self.wire:
            return ", ".join(f"{key} {value}" for key, value in self.choice.items()) or "none"
        return f"{self.wire} {self.kind} {self.n}" + ("" if self.lane is None else f" lane {self.lane}")


KINDS = ("stuck0", "stuck1", "invert", "low", "high", "saturate", "plus", "minus")


def edited(value: int, bits: int, kind: str, n: int, signed: bool) -> int:
    """Return the value of a wire of so many bits with an edit."""
    ones, half = (1 << bits) - 1, 1 << (bits - 1 - n) if bits > n else 1
    value &= ones
    plain = value - (1 << bits) if signed and value >> (bits - 1) else value
    if kind == "saturate":
        return max(-half, min(half - 1, plain)) if signed else min(plain, (1 << (bits - n)) - 1)
    if kind == "high":
        kept = plain & ((1 << (bits - n)) - 1)
        return kept - 2 * half if signed and kept & half else kept
    value = {
        "stuck0": value & ~(1 << n), "stuck1": value | 1 << n, "invert": value ^ 1 << n, "low": value >> n << n,
        "plus": value + 1 & ones, "minus": value - 1 & ones,
    }[kind]  # fmt: skip
    return value - (1 << bits) if signed and value >> (bits - 1) else value


class Wires:
    """The wires of a design. seen: name -> (bits, lanes) of those that were used."""

    def __init__(self, fault: Fault) -> None:
        self.fault, self.seen = fault, dict[str, tuple[int, int]]()

    def __call__(self, name: str, value: int, bits: int, signed: bool = False, lane: int = 0) -> int:
        self.seen[name] = (bits, max(lane + 1, self.seen.get(name, (0, 0))[1]))
        fault = self.fault
        if fault.wire != name or fault.lane not in (None, lane):
            return value
        return edited(int(value), bits, fault.kind, fault.n, signed)

    def number(self, name: str, value: Any, lane: int = 0) -> Any:
        """A binary32 number on a wire."""
        return f32_of(self(name, bits_of(value), 32, lane=lane))


def bits_of(value: Any) -> int:
    return int(np.asarray(value, f32).view(np.uint32))


def f32_of(bits: int) -> Any:
    return np.array(bits & 0xFFFFFFFF, np.uint32).view(f32)[()]


# convert: binary32 -> a narrow float (e bits, m bits, bias) or INT4, policy nvidia.

NARROW = {
    "e2m1": (2, 1, 1, 7, 7),
    "e1m2": (1, 2, 1, 7, 7),
    "e4m3": (4, 3, 7, 0x7E, 0x7F),
    "e3m2": (3, 2, 3, 31, 31),
}  # e, m, bias, largest, NaN


def convert(row: Lanes, w: Wires, config: Mapping[str, Any]) -> Lanes:  # noqa: C901
    """One conversion."""
    x = row["x"][0]
    sign, exp, frac = w("sign", x >> 31, 1), w("exponent", x >> 23 & 255, 8), w("fraction", x & 0x7FFFFF, 23)
    integer = config["dst"] == "int4"
    e_bits, m, bias, top, nan = (1, 3, 0, 7, 7) if integer else NARROW[config["dst"]]
    width = 4 if integer else e_bits + m + 1
    is_nan, is_inf = exp == 255 and frac != 0, exp == 255 and frac == 0
    if config.get("zero_first") and not frac and exp in (0, 255):
        return {"y": [sign << (width - 1) if not integer else 0]}
    if is_nan and config.get("nan", "code") != "number":
        word = config.get("nan", "code")
        code = {"code": nan, "zero": 0, "signed": nan | sign << (width - 1), "quiet": nan ^ 1}[word]
        return {"y": [code]}
    if config.get("flush") and exp == 0:
        frac = 0
    sig = w("significand", frac | (1 << 23 if exp or config.get("hidden") else 0), 24)
    power = w("power", max(exp, 1) - 127, 9, signed=True)
    least = 0 if integer else 1 - bias
    unit = 0 if integer else max(power, least) - m
    drop = min(max(unit - (power - 23), 0), 40)
    kept, lost = sig >> drop, sig & ((1 << drop) - 1)
    kept = w("kept", kept, 6) if not (integer and power > 4) else kept
    guard = w("guard", lost >> (drop - 1) & 1 if drop else 0, 1)
    below = lost & ((1 << max(drop - 1, 0)) - 1)
    if "sticky_bits" in config:
        below = below >> max(drop - 1 - config["sticky_bits"], 0)
    sticky = w("sticky", int(below != 0), 1)
    odd = w("odd", kept & 1, 1)
    mode = config.get("mode", "rne")
    up = {"rne": guard & (sticky | odd), "rz": 0, "rna": guard, "rto": guard & (sticky | 1 - odd), "rd": sign & (guard | sticky),
          "ru": (1 - sign) & (guard | sticky), "half_down": guard & sticky, "odd": (1 - odd) & (guard | sticky)}[mode]  # fmt: skip
    up = w("round_up", up, 1)
    big = (power > 15 or is_inf) if not integer else (power > 3 or is_inf)
    if is_inf and config.get("inf") == "zero":
        return {"y": [sign << (width - 1)]}
    mag = kept + up
    if not integer:
        if config.get("carry") == "lost" and kept >> m != mag >> m:
            mag = kept >> m << m
        mag += (max(power, least) - least) << m
        if config.get("subnormal") == "flush" and mag >> m == 0:
            mag = 0
    end = 8 if integer and sign and not config.get("symmetric") else top
    stop = end - config.get("saturate_below", 0)
    if config.get("wrap") and not is_inf:
        mag &= (1 << (width - 1)) - 1
    elif big or mag > end - (1 if config.get("strict") else 0):
        mag = stop
    mag = w("magnitude", mag, 4 if integer else width - 1)
    if integer:
        return {"y": [w("code", (-mag if sign else mag) & 15, 4)]}
    if config.get("zero_sign") == "plus" and mag == 0:
        sign = 0
    return {"y": [w("code", sign << (width - 1) | mag, width)]}


# decode: a code to binary32 and its class.


def decode(row: Lanes, w: Wires, config: Mapping[str, Any]) -> Lanes:
    e_bits, m, bias, _, nan = NARROW[config["src"]]
    code = w("code", row["code"][0], e_bits + m + 1)
    sign, exp, frac = code >> (e_bits + m), w("exponent", code >> m & (1 << e_bits) - 1, e_bits), w("fraction", code & (1 << m) - 1, m)
    if config["src"] == "e4m3" and code & 127 == nan and not config.get("nan_number"):
        return {"fp32": [0x7FC00000], "cls": [w("class", 4, 4)]}
    if config.get("flush") and exp == 0:
        frac = 0
    value = (frac if exp == 0 and not config.get("hidden") else frac + (1 << m)) * Fraction(2) ** (max(exp, 1) - bias - m)
    if exp == 0 and config.get("no_subnormal_exponent"):
        value /= 2
    kind = 2 if exp else 1 if frac else 0
    bits = bits_of(f32(float(value)))
    power = w("result_exponent", bits >> 23, 8)
    sign = 0 if config.get("zero_sign") == "plus" and not value else sign
    return {"fp32": [sign << 31 | power << 23 | bits & 0x7FFFFF], "cls": [w("class", kind, 4)]}


# dot: one fused step: products, groups, block scales, alignment to the largest exponent, one addition, one rounding toward zero.

FUSED: dict[str, dict[str, Any]] = {
    "blackwell_mxf4nvf4_b16_ue4m3": {
        "fmt": "e2m1",
        "group": 16,
        "fraction_bits": 35,
        "keep": 23,
        "floor": -139,
        "adder": 49,
        "scale": True,
        "nan": 0x7FFFFFFF,
    },
    "hopper_fp8": {
        "fmt": "e4m3",
        "group": 1,
        "fraction_bits": 13,
        "keep": 13,
        "floor": -133,
        "adder": 21,
        "scale": False,
        "nan": 0x7FFFFFFF,
    },
    "nv_like": {"fmt": "e1m2", "group": 16, "fraction_bits": 35, "keep": 23, "floor": -136, "adder": 46, "scale": True, "nan": 0x7FFFFFFF},
}


def element(code: int, fmt: str, flush: bool = False) -> tuple[int, int]:
    """(signed significand, exponent of its unit)."""
    e_bits, m, bias, _, _ = NARROW[fmt]
    exp, frac = code >> m & (1 << e_bits) - 1, code & (1 << m) - 1
    sig = frac + ((1 << m) if exp else 0)
    if flush and not exp:
        sig = 0
    return (-sig if code >> (e_bits + m) & 1 else sig), max(exp, 1) - bias - m


def cut(value: int, places: int, mode: str = "rz") -> int:
    if places >= 0:
        return value << places
    if mode == "rd":
        return value >> -places
    mag = abs(value)
    kept, lost = mag >> -places, mag & ((1 << -places) - 1)
    half = 1 << (-places - 1)
    kept += mode == "rne" and (lost > half or (lost == half and kept & 1))
    return -kept if value < 0 else kept


def fused(row: Lanes, w: Wires, config: Mapping[str, Any]) -> Lanes:  # noqa: C901
    base = {**FUSED[config["datapath"]], **config}
    fmt, m, k = base["fmt"], NARROW[base["fmt"]][1], len(row["a"])
    a, b, c = list(row["a"]), list(row["b"]), row["c"][0]
    if config.get("swap"):
        a = [a[i ^ 1] for i in range(k)]
    sa, sb = list(row.get("sa", [])), list(row.get("sb", []))
    if config.get("scale_rotate"):
        sb = sb[1:] + sb[:1]
    c_sign, c_exp, c_frac = c >> 31, c >> 23 & 255, c & 0x7FFFFF
    bad = c_exp == 255 and c_frac != 0
    bad |= any(code & 0x7F == 0x7F for code in (*sa, *sb))
    bad |= fmt == "e4m3" and any(code & 0x7F == 0x7F for code in (*a, *b))
    if config.get("nan_lost"):
        bad = c_exp == 255 and c_frac != 0
    if bad:
        return {"d": [base["nan"]]}
    if c_exp == 255:
        return {"d": [c]}
    flush = bool(config.get("flush_elements"))
    products, exps = [], []
    for lane, (x, y) in enumerate(zip(a, b, strict=True)):
        (xs, xe), (ys, ye) = element(x, config.get("a_as", fmt), flush), element(y, config.get("b_as", fmt), flush)
        least = 1 - NARROW[fmt][2] - m
        if base["group"] > 1:  # fixed point in units of the least products
            xs, ys, xe, ye = xs << (xe - least), ys << (ye - least), least, least
        products.append(w("product", xs * ys, 12, True, lane) if fmt != "e4m3" else w("product", xs * ys, 9, True, lane))
        exps.append(xe + ye)
    terms: list[tuple[int, int, int, bool]] = []  # value, exponent that it names, exponent of its unit, live
    if base["group"] > 1:
        for number, first in enumerate(range(0, k, base["group"])):
            part = products[first : first + base["group"]]
            total = w("group_sum", sum(part), 14, True, number)
            block = first // 16
            (s1, e1), (s2, e2) = (element(code & 0x7F, "e4m3") for code in (sa[block], sb[block]))
            if config.get("scale_flush"):
                s1, s2 = (s if s >= 8 else 0 for s in (s1, s2))
            both = w("scale_product", s1 * s2, 8, False, number)
            power = w("scale_exponent", e1 + e2 + 6, 7, True, number)
            live = any(part) if config.get("cancelled", True) else total != 0
            terms.append((w("term", total * both, 23, True, number), power, power - 6 + exps[0], live and both != 0))
    else:
        for lane, value in enumerate(products):
            power = w("product_exponent", exps[lane] + 6, 7, True, lane)
            terms.append((value, power, power - 6, value != 0))
    c_flush = config.get("flush_c") and not c_exp
    c_sig = 0 if c_flush else c_frac | (1 << 23 if c_exp else 0)
    c_sig, c_power = -c_sig if c_sign else c_sig, max(c_exp, 1) - 127
    if config.get("no_c"):
        c_sig = 0
    named = [power for _, power, _, live in terms if live] + ([c_power] if c_sig and not config.get("c_not_in_max") else [])
    e_max = w("largest_exponent", max([*named, base["floor"]]), 10, True)
    unit = e_max - base["fraction_bits"]
    mode = config.get("align", "rz")
    aligned = [w("aligned", cut(value, at - unit, mode), base["adder"], True, lane) for lane, (value, _, at, _) in enumerate(terms)]
    aligned_c = w("aligned_c", cut(c_sig, c_power - 23 - unit, config.get("align_c", mode)), base["adder"], True)
    total = w("total", sum(aligned) + aligned_c, base["adder"], True)
    return {"d": [rounded(total, unit, w, base)]}


def rounded(total: int, unit: int, w: Wires, base: Mapping[str, Any]) -> int:
    """total * 2^unit as binary32 with `keep` fraction bits, toward zero."""
    if not total:
        return 0
    sign, mag = int(total < 0), abs(total)
    exp = w("leading", mag.bit_length() - 1, 7) + unit
    exp = max(exp, -126)
    kept = abs(cut(mag, unit - (exp - base["keep"]), base.get("round", "rz")))
    kept = w("rounded", kept, 25)
    sig = kept << (23 - base["keep"])
    if base.get("carry") == "lost" and sig >> 24:
        sig = 1 << 23
    if base.get("flush_result") and sig < 1 << 23:
        return sign << 31 if base.get("ieee_zero") else 0
    code = sig if sig < 1 << 23 else ((exp + 126) << 23) + sig
    if code >= 0x7F800000:
        code = 0x7F7FFFFF if base.get("overflow") == "saturate" else 0x7F800000
    code = w("result", code, 31)
    return 0 if not code and not base.get("ieee_zero") else sign << 31 | code


# dot with a running register of integers.


def register(row: Lanes, w: Wires, config: Mapping[str, Any]) -> Lanes:
    kind = config["datapath"]
    bits, end = (
        config.get("bits", {"int12_saturate": 12, "int12_wrap": 12, "int20_wrap": 20, "e1m2_int24_register": 24}[kind]),
        config.get("end", "wrap" if kind.endswith("wrap") else "saturate"),
    )
    lots: list[int] = []
    scaled = kind == "e1m2_int24_register"
    for lane, (x, y) in enumerate(zip(row["a"], row["b"], strict=True)):
        if kind == "int20_wrap":
            xs, ys = (v - 256 if v > 127 else v for v in (x, y))
            lots.append(w("product", xs * ys, 16, True, lane))
            continue
        fmt = "e1m2" if scaled else "e2m1"
        (xs, xe), (ys, ye) = element(x, config.get("a_as", fmt)), element(y, config.get("b_as", fmt))
        least = -2 if scaled else -1
        lots.append(w("product", (xs << (xe - least)) * (ys << (ye - least)), 10, True, lane))
    if config.get("reverse"):
        lots.reverse()
    c = row.get("c", [0])[0]
    if scaled:
        if any(code & 0x7F == 0x7F for code in (*row["sa"], *row["sb"])) or (c & 0x7FFFFFFF) > 0x7F800000:
            return {"d": [0x7FC00000]}
        if c & 0x7FFFFFFF == 0x7F800000:
            return {"d": [c]}
        sums = []
        for block in range(4):
            total = w("group_sum", sum(lots[block * 16 : block * 16 + 16]), 12, True, block)
            (s1, e1), (s2, e2) = (element(code[block] & 0x7F, "e4m3") for code in (row["sa"], row["sb"]))
            sums.append(w("term", cut(total * s1 * s2, e1 + e2 - 4 + 22), 42, True, block))
        lots = sums
    acc, half = 0, 1 << (bits - 1)
    for turn, lot in enumerate(lots):
        acc = cut((acc << 12) + lot, -12, config.get("cut", "rz")) if scaled else acc + lot
        if end == "wrap":
            acc = (acc + half) % (2 * half) - half
        elif end == "at_end":
            pass
        else:
            acc = max(-half + (1 if config.get("symmetric") else 0), min(half - 1 - config.get("below", 0), acc))
        acc = w("register", acc, bits, True, turn)
    if end == "at_end":
        acc = max(-half, min(half - 1, acc))
    unit = -10 if scaled else 0 if kind == "int20_wrap" else -2
    return {"d": [nearest(Fraction(acc) * Fraction(2) ** unit + (fp32_value(c) if scaled and not config.get("no_c") else 0), w)]}


def fp32_value(code: int) -> Fraction:
    exp, frac = code >> 23 & 255, code & 0x7FFFFF
    value = Fraction(frac + (1 << 23 if exp else 0)) * Fraction(2) ** (max(exp, 1) - 150)
    return -value if code >> 31 else value


def nearest(value: Fraction, w: Wires) -> int:
    """A number as binary32, to nearest even; zero is +0."""
    if not value:
        return 0
    sign, value = int(value < 0), abs(value)
    exp = value.numerator.bit_length() - value.denominator.bit_length()
    exp -= Fraction(2) ** exp > value
    exp = max(exp, -126)
    units = value / Fraction(2) ** (exp - 23)
    whole = units.numerator // units.denominator
    rest = units - whole
    whole += rest > Fraction(1, 2) or (rest == Fraction(1, 2) and whole % 2 == 1)
    code = whole if whole < 1 << 23 else ((exp + 126) << 23) + whole
    code = w("result", min(code, 0x7F800000), 31)
    return sign << 31 | code if code else 0


# quantize, dequantize, transform: binary32 arithmetic of NumPy, one operation after the other.


def bf16_value(code: int) -> Any:
    return f32_of(code << 16)


def e2m1_code(value: Any, w: Wires, lane: int, config: Mapping[str, Any]) -> int:
    """To nearest even on 0 0.5 1 1.5 2 3 4 6; beyond 6 stays 6."""
    edges, mag = (0.25, 0.75, 1.25, 1.75, 2.5, 3.5, 5.0), abs(float(value))
    if mag != mag:
        return config.get("nan_code", 7)
    code = 0
    for place, edge in enumerate(edges):
        tie = {"rne": place % 2 == 1, "rna": True, "down": False}[config.get("ties", "rne")]
        code += mag > edge or (mag == edge and tie)
    if config.get("mode") == "rz":
        code = sum(mag >= v for v in (0.5, 1, 1.5, 2, 3, 4, 6))
    if config.get("flush_codes") and code == 1:
        code = 0
    return w("code", code | (8 if np.signbit(value) else 0), 4, lane=lane)


def amax_of(values: list[Any], config: Mapping[str, Any]) -> Any:
    if config.get("lanes_seen"):
        values = values[: config["lanes_seen"]]
    if config.get("signed_amax"):
        return max([f32(0), *values])
    return f32(np.max(np.abs(np.array(values, f32)))) if values else f32(0)


def mxfp4_floor(row: Lanes, w: Wires, config: Mapping[str, Any]) -> Lanes:
    """mxfp4_torchao_floor on bf16 blocks of 32 without NaN."""
    x = [bf16_value(w("x", code, 16, lane=lane)) for lane, code in enumerate(row["x"])]
    if any(np.isnan(x)):
        return {}
    amax = w.number("block_amax", amax_of(x, config))
    power = (bits_of(amax) >> 23 & 255) - 127 if bits_of(amax) >> 23 & 255 else -127
    if config.get("rule") == "ceil" and bits_of(amax) & 0x7FFFFF:
        power += 1
    scale = max(0, min(254, power - config.get("emax", 2) + 127))
    if not amax:
        scale = 0
    scale = w("scale", scale, 8)
    divisor = f32(2.0 ** (max(scale, 1) - 127))
    with np.errstate(all="ignore"):
        codes = [e2m1_code(w.number("scaled", value / divisor, lane), w, lane, config) for lane, value in enumerate(x)]
    return {"codes": codes, "scale": [scale], "amax": [bits_of(amax)]}


def ue4m3_code(value: Any) -> int:
    if value != value:
        return 0x7F
    value = min(float(value), 448.0)
    if value <= 0:
        return 0
    power = max(int(np.frexp(value)[1]) - 1, -6)
    units = Fraction(value) / Fraction(2) ** (power - 3)
    whole, rest = units.numerator // units.denominator, units - units.numerator // units.denominator
    whole += rest > Fraction(1, 2) or (rest == Fraction(1, 2) and whole % 2 == 1)
    return ((power + 6) << 3) + whole


def nvfp4_te(row: Lanes, w: Wires, config: Mapping[str, Any]) -> Lanes:
    """nvfp4_te_ref."""
    of = bf16_value if config.get("src") == "bf16" else f32_of
    count = row["n_valid"][0]
    x = [of(w("x", code, 16 if config.get("src") == "bf16" else 32, lane=lane)) for lane, code in enumerate(row["x"])]
    x = x[:count] + [f32(0)] * (16 - count)
    tensor = f32_of(row["ts"][0])
    biggest = f32_of(0x7F7FFFFF)
    with np.errstate(all="ignore"):
        amax = w.number("block_amax", amax_of(x, config))
        ratio = min(f32(config.get("full", 2688)) / tensor, biggest)
        multiplier = w.number("tensor_multiplier", ratio if ratio != 0 else f32(1))
        raw = amax * f32(multiplier * f32_of(0x3E2AAAAB)) if not config.get("divide") else (amax * multiplier) / f32(6)
        raw = w.number("scale_raw", min(raw, biggest))
        scale = w("scale", ue4m3_code(raw), 8)
        sig, exp = element(scale & 0x7F, "e4m3")
        value = f32("nan") if scale & 0x7F == 0x7F else f32(sig * 2.0**exp)
        factor = w.number("factor", value * (f32(1) / multiplier))
        inverse = w.number("reciprocal", min(f32(1) / factor, biggest))
        scaled = [w.number("scaled", lane_value * inverse, lane) for lane, lane_value in enumerate(x)]
        if config.get("no_reciprocal"):
            scaled = [v / factor if factor else v * biggest for v in x]
    codes = [e2m1_code(v if v != 0 else f32(0), w, lane, {"nan_code": 0, **config}) for lane, v in enumerate(scaled)]
    if config.get("order") == "swap":
        codes = [codes[lane ^ 1] for lane in range(16)]
    return {"codes": codes[:count] + [-1] * (16 - count), "scale": [scale], "amax": [bits_of(amax)]}


def bf16_round(bits: int, mode: str = "rne") -> int:
    if bits & 0x7FFFFFFF > 0x7F800000:
        return 0x7FC0
    low = bits & 0xFFFF
    up = low > 0x8000 or (low == 0x8000 and bits >> 16 & 1)
    return (bits >> 16) + (1 if up and mode == "rne" else 0)


E2M1_VALUES = [0, 0.5, 1, 1.5, 2, 3, 4, 6]


def dequantize_te(row: Lanes, w: Wires, config: Mapping[str, Any]) -> Lanes:
    """Profile te of nvfp4_te_ref."""
    scale, tensor = row["scale"][0], f32_of(row["ts"][0])
    if scale >> 7:
        return {}
    sig, exp = element(scale & 0x7F, "e4m3")
    value = f32("nan") if scale & 0x7F == 0x7F else f32(sig * 2.0**exp)
    if config.get("scale_flush") and scale < 8:
        value = f32(0)
    out = []
    with np.errstate(all="ignore"):
        first = w.number("scale_times_amax", value * tensor)
        factor = w.number("factor", first * f32_of(0x39C30C31) if not config.get("divide") else first / f32(2688))
        if config.get("no_tensor"):
            factor = value
        for lane, code in enumerate(row["codes"]):
            number = f32(E2M1_VALUES[w("code", code, 4, lane=lane) & 7]) * f32(-1 if code & 8 and not config.get("unsigned") else 1)
            if code & 8 and not code & 7 and not config.get("plus_zero"):
                number = f32(-0.0)
            bits = bits_of(w.number("product", number * factor, lane))
            out.append(bf16_round(bits, config.get("mode", "rne")) if config.get("dst") == "bf16" else bits)
    return {"y": out}


def dequantize_mx(row: Lanes, w: Wires, config: Mapping[str, Any]) -> Lanes:
    """MXFP4, exact."""
    scale, out = w("scale", row["scale"][0], 8), []
    for lane, given in enumerate(row["codes"]):
        code = w("code", given, 4, lane=lane)
        value = E2M1_VALUES[code & 7] * (-1.0 if code & 8 else 1.0)
        with np.errstate(all="ignore"):
            number = f32(value * 2.0 ** (scale - config.get("bias", 127))) if scale != 255 or config.get("nan_lost") else f32("nan")
        if config.get("flush") and bits_of(number) & 0x7F800000 == 0:
            number = f32_of(bits_of(number) & 1 << 31)
        bits = w("product", bits_of(number), 32, lane=lane)
        out.append(bf16_round(bits, config.get("mode", "rne")) if config.get("dst") == "bf16" else bits)
    return {"y": out}


def butterfly(row: Lanes, w: Wires, config: Mapping[str, Any]) -> Lanes:
    """rht16_butterfly from bf16."""
    signs = config.get("signs", 0xD7E8)
    values = [bf16_value(w("x", code, 16, lane=lane)) for lane, code in enumerate(row["x"])]
    values = [-v if signs >> lane & 1 else v for lane, v in enumerate(values)]
    with np.errstate(all="ignore"):
        for level, stride in enumerate(config.get("strides", (1, 2, 4, 8))):
            pairs = [(values[i & ~stride], values[i | stride], i & stride) for i in range(16)]
            values = [a - b if minus else a + b for a, b, minus in pairs]
            if config.get("minus") == level:
                values = [b - a if minus else a + b for a, b, minus in pairs]
            values = [w.number(f"level{level}", v, lane) for lane, v in enumerate(values)]
        out = [v * f32(config.get("scale", 0.25)) for v in values]
    return {"y": [w("y", bits_of(v), 32, lane=lane) for lane, v in enumerate(out)]}


MODELS: dict[str, Callable[[Lanes, Wires, Mapping[str, Any]], Lanes]] = {
    "convert": convert, "decode": decode, "fused": fused, "register": register, "mxfp4_floor": mxfp4_floor, "nvfp4_te": nvfp4_te,
    "dequantize_te": dequantize_te, "dequantize_mx": dequantize_mx, "butterfly": butterfly,
}  # fmt: skip


class Design:
    """One design with one fault. model: its name.   config: what it is for."""

    def __init__(self, model: str, config: Mapping[str, Any], fault: Fault) -> None:
        self.model, self.config, self.fault = MODELS[model], {**config, **fault.choice}, fault
        self.wires = Wires(fault)

    def answer(self, row: Lanes) -> Lanes:
        """Return output column -> lanes; empty where the model says nothing of a row (it gives what is right there)."""
        return self.model(row, self.wires, self.config)


def blind(model: str, config: Mapping[str, Any], rows: list[Lanes], seed: str) -> Iterator[Fault]:
    """Yield faults drawn without looking: any wire, any kind, any position; of wires with lanes one time in four one lane alone.

    rows: some, on which the wires are found.   seed: the same gives the same faults on every machine.
    """
    probe = Design(model, config, Fault())
    for row in rows:
        probe.answer(row)
    draw = Random(seed)
    names = sorted(probe.wires.seen)
    while True:
        name = draw.choice(names)
        bits, lanes = probe.wires.seen[name]
        kind = draw.choice(KINDS)
        narrow = kind in ("low", "high", "saturate")
        n = draw.randrange(1, min(4, bits)) if narrow and bits > 1 else draw.randrange(bits)
        lane = draw.randrange(lanes) if lanes > 1 and draw.randrange(4) == 0 else None
        if not narrow or bits > 1:
            yield Fault({}, name, kind, 0 if kind in ("plus", "minus") else n, lane)
