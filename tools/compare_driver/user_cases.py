"""Objects of a user: random formats, policies, recipes and datapaths, written as spec files into a folder and asked of every engine."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import block_cases
import draw
import numpy as np
import product_cases
from names import Names, width
from user_objects import COUNTS, write_all

import emu

Case = tuple[str, Any]
ROUNDINGS = ("rne", "rna", "rz", "ru", "rd", "odd", "sr_add8", "sr_cmp8")


def user(names: Names, folder: Path) -> Iterator[Case]:
    """Yield every drawn object x engine; one that does not load is a refusal."""
    for name in write_all(folder, names.kinds["policy"]):
        yield f"user/load/{name}", _load(names, folder / name)
    yield from _formats(names)
    for i in range(COUNTS["recipe"]):
        for engine in names.engines:
            for kind in block_cases.DATA:
                yield f"user/quantize/{engine}/own_recipe_{i}/{kind}", _quantize(names, f"own_recipe_{i}", kind, engine)
    for i in range(COUNTS["datapath"]):
        for engine in names.engines:
            for kind in ("uniform", "near"):
                yield f"user/dot/{engine}/own_datapath_{i}/{kind}", _dot(names, f"own_datapath_{i}", kind, engine)


def _load(names: Names, folder: Path) -> Any:
    """Load one drawn object, whether or not its answer is wanted. Returns: the case that says how it went."""
    try:
        names.load_spec(folder)
    except names.refusals as error:
        return lambda error=error: _again(error)
    return lambda: {"loaded": folder.name}


def _again(error: Exception) -> dict[str, Any]:
    raise error


def _formats(names: Names) -> Iterator[Case]:
    policies = ("nvidia", *(f"own_policy_{i}" for i in range(COUNTS["policy"])))
    for name in (f"own_format_{i}" for i in range(COUNTS["format"])):
        yield f"user/decode/{name}", _decode(names, name)
        for engine in names.engines:
            codes = draw.source_codes(32, "user", few=engine == "exact")
            for rounding in ROUNDINGS:
                random = draw.integers(f"user {rounding}", len(codes), 8) if rounding.startswith("sr") else None
                for policy in policies:
                    named = {"rounding": rounding, "policy": policy, "random": random, "engine": names.engines[engine]}
                    yield f"user/convert/{engine}/{name}/{rounding}/{policy}", _convert(codes, name, named)


def _decode(names: Names, name: str) -> Any:
    return lambda: {"values": emu.decode(np.arange(1 << width(names.get("format", name)), dtype=np.uint16), name, np.float64)}


def _convert(codes: Any, to: str, named: dict[str, Any]) -> Any:
    return lambda: {"x": codes, "codes": emu.convert(codes, to, source="fp32", **named)}


def _quantize(names: Names, name: str, kind: str, engine: str) -> Any:
    def call() -> dict[str, Any]:
        x = block_cases.data(kind, (4, 96), np.float32, f"user {name} {kind}")
        found = emu.quantize(x, name, engine=names.engines[engine])
        return {"x": x, "codes": found.codes, "scale": found.scales, "values": names.dequantize(found, engine=names.engines[engine])}

    return call


def _dot(names: Names, name: str, kind: str, engine: str) -> Any:
    def call() -> dict[str, Any]:
        choice = product_cases.choices(names.get("datapath", name).facts)[0]
        found: dict[str, Any] = product_cases.dot_call(names, name, choice, kind, engine)()
        return found

    return call
