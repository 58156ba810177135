"""decode of every format; convert of every source, destination, rounding and policy, by every engine."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import draw
import numpy as np
from names import Names, random_operand, width

import emu

Case = tuple[str, Any]
WIDE = ("fp32", "bf16", "fp16")


def decode(names: Names) -> Iterator[Case]:
    """Yield every format to every dtype."""
    for fmt in names.ids("format"):
        bits = width(names.get("format", fmt))
        codes = draw.source_codes(bits, f"decode {fmt}", few=False)
        for dtype in ("float16", "bfloat16", "float32", "float64"):
            yield f"decode/{fmt}/{dtype}", _decode(codes, fmt, dtype)
        yield f"decode/{fmt}/list", _decode([int(code) for code in codes[:16]], fmt, "float64")
        yield f"decode/{fmt}/too_wide", _decode(np.array([1 << bits], np.uint64) if bits < 64 else codes, fmt, "float64")
        yield f"amax/{fmt}", _amax(codes[:200], fmt)


def _amax(codes: Any, fmt: str) -> Any:
    return lambda: {"x": codes, "amax": np.asarray(emu.amax(codes, source=fmt))}


def _decode(codes: Any, fmt: str, dtype: str) -> Any:
    def call() -> dict[str, Any]:
        import ml_dtypes

        return {"codes": np.asarray(codes), "values": emu.decode(codes, fmt, ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype)}

    return call


def convert(names: Names) -> Iterator[Case]:
    """Yield every (source, destination, rounding, policy) of wide sources; of narrow sources two roundings and policies."""
    roundings = {name: names.get("rounding", name) for name in names.ids("rounding")}
    for source in names.ids("format"):
        bits = width(names.get("format", source))
        main = source in WIDE
        for engine in names.engines:
            codes = draw.source_codes(bits, f"convert {source}", few=(engine == "exact" and bits > 8) or bits > 32)
            for to in names.ids("format"):
                for rounding in roundings if main else ("rne", "rz", "sr_add8"):
                    random = _random(roundings[rounding], len(codes), f"{source} {to} {rounding}")
                    for policy in names.ids("policy") if main else ("nvidia", "ieee"):
                        key = f"convert/{engine}/{source}/{to}/{rounding}/{policy}"
                        asked: list[str] = []
                        yield key, _convert(codes, source, to, rounding, policy, random, names.engines[engine], asked)
                        if asked in ([], ["OpenError"]):
                            few = _numbers(codes, source, bits)
                            some = None if random is None else random[: _count(roundings[rounding], len(few))]
                            yield f"{key}/numbers", _convert(few, source, to, rounding, policy, some, names.engines[engine], asked)


def _random(rounding: Any, count: int, key: str) -> Any:
    wanted = random_operand(rounding, count)
    return None if wanted is None else draw.integers(key, *wanted)


def _count(rounding: Any, count: int) -> int:
    wanted = random_operand(rounding, count)
    return 0 if wanted is None else wanted[0]


def _numbers(codes: Any, source: str, bits: int) -> Any:
    """Return the codes of finite numbers, without -0: what a policy that leaves a special value open can still convert."""
    if bits <= 8:
        values = emu.decode(codes, source, np.float64)
        return codes[np.isfinite(values) & ~((values == 0) & np.signbit(values))]
    exp, frac = {"fp32": (8, 23), "bf16": (8, 7), "fp16": (5, 10), "fp64": (11, 52)}[source]
    fields = (codes.astype(np.uint64) >> np.uint64(frac)) & np.uint64((1 << exp) - 1)
    return codes[(fields != (1 << exp) - 1) & (codes != codes.dtype.type(1 << (bits - 1)))]


def _convert(codes: Any, source: str, to: str, rounding: str, policy: str, random: Any, engine: str, asked: list[str]) -> Any:
    def call() -> dict[str, Any]:
        try:
            found = emu.convert(codes, to, rounding=rounding, policy=policy, source=source, random=random, engine=engine)
        except Exception as error:
            asked.append(type(error).__name__)
            raise
        asked.append("answered")
        return {"x": codes, "codes": found} if random is None else {"x": codes, "random": random, "codes": found}

    return call
