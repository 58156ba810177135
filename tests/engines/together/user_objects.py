"""Formats that no file has, of every class, for tests that ask all engines about them: as a user may write them, valid by the loader."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from hypothesis import strategies as st

from emu.spec import derive, get, names
from emu.spec.derive import EntryCodes
from emu.spec.models import Format, Policy, Rounding, Transform
from emu.spec.models.common import SpecObject
from emu.spec.models.format import FloatFacts
from emu.spec.models.rounding import Word
from emu.spec.registry import load_spec, restored

ABOUT: dict[str, Any] = {"title": "drawn by a test", "status": "proposed", "sources": ()}
ROUNDINGS = (
    "rne",
    "rna",
    "rz",
    "ru",
    "rd",
    "odd",
    "sr_add8",
    "sr_cmp8",
    "sr_half8",
    "sr_te_fma8",
    "sr_add16",
    "sr_nearest8",
    "odd_by_parity",
)
WORDS = ("saturate", "inf", "nan", "ieee_inf", "ieee_nan", "wrap")


def model(kind: type[Any], facts: Any, name: str = "drawn") -> Any:
    """A spec object with the facts, checked as its model checks."""
    word = {Format: "format", Policy: "policy", Rounding: "rounding", Transform: "transform"}[kind]
    return kind.model_validate({"kind": word, "id": name, **ABOUT, "facts": facts})


@st.composite
def floats(draw: st.DrawFn, most: int = 32, *, plain: bool = False) -> Format:
    """Float formats of at most `most` bits. plain: a sign, subnormals, infinity and NaN, as a result of arithmetic needs them."""
    signed = "yes" if plain else draw(st.sampled_from(["yes", "yes", "no"]))
    room = most - (signed == "yes")
    exp_bits = draw(st.integers(2 if plain else 1, min(room - plain, 11)))
    frac_bits = draw(st.integers(int(plain), min(room - exp_bits, 52)))
    subnormals = "yes" if plain else draw(st.sampled_from(["yes", "yes", "yes", "no"]))
    ieee = plain or (exp_bits > 1 and frac_bits > 0 and draw(st.booleans()))
    width = exp_bits + frac_bits
    sign, top, digits = 1 << width, (1 << width) - 1, -(-(width + 1) // 4)
    lists = [(), (top, top | sign)] if signed == "yes" else [(), (top,)]
    lists += [(sign,)] if signed == "yes" and subnormals == "yes" else []
    nan = () if ieee else draw(st.sampled_from(lists))
    last = top - (top in nan)  # the highest magnitude that is not NaN
    inf = (last, last | sign)[: 2 if signed == "yes" else 1] if not ieee and last > 1 and draw(st.integers(0, 2)) == 0 else ()
    usual = (1 << (exp_bits - 1)) - 1
    spare = -(width + (signed == "yes")) % 8 if draw(st.integers(0, 7)) == 0 else 0
    facts = {
        "class": "float",
        "signed": signed,
        "exp_bits": exp_bits,
        "frac_bits": frac_bits,
        "bias": draw(st.one_of(st.just(usual), st.integers(-2, (1 << exp_bits) + 2), st.integers(usual - 150, usual + 150))),
        "subnormals": subnormals,
        "inf": "ieee" if ieee else tuple(f"0x{code:0{digits}X}" for code in inf) or "none",
        "nan": "ieee" if ieee else tuple(f"0x{code:0{digits}X}" for code in nan) or "none",
        "neg_zero": "yes" if signed == subnormals == "yes" and nan != (sign,) else "no",
        "unused_high_bits": 0 if plain else spare,
    }
    return model(Format, facts)  # type: ignore[no-any-return]


@st.composite
def integers(draw: st.DrawFn, most: int = 16) -> Format:
    """Whole numbers of a unit."""
    signed = draw(st.sampled_from(["twos_complement", "sign_magnitude", "no"]))
    bits = draw(st.integers(1 if signed == "no" else 2, most))
    return model(Format, {"class": "integer", "signed": signed, "bits": bits, "unit_exp": draw(st.integers(-30, 20))})  # type: ignore[no-any-return]


@st.composite
def exponents(draw: st.DrawFn, most: int = 9) -> Format:
    """Powers of two, NaN at the top or nowhere."""
    bits = draw(st.integers(1, most))
    nan = (f"0x{(1 << bits) - 1:X}",) if bits > 1 and draw(st.booleans()) else "none"
    return model(Format, {"class": "exponent", "signed": "no", "bits": bits, "bias": draw(st.integers(-20, 160)), "nan": nan})  # type: ignore[no-any-return]


@st.composite
def codebooks(draw: st.DrawFn, most: int = 5) -> Format:
    """Distinct multiples of a small unit, 0 among them, in ascending or in any order."""
    bits = draw(st.integers(1, most))
    whole = draw(st.lists(st.integers(-200, 200), min_size=1 << bits, max_size=1 << bits, unique=True))
    if 0 not in whole:
        whole[0] = 0
    whole = sorted(whole) if draw(st.booleans()) else whole
    unit = draw(st.sampled_from([1, 2, 64, 3]))
    values = tuple(str(number) if unit == 1 or not number else f"{number}/{unit}" for number in whole)
    tie = draw(st.sampled_from(["even_code", "lower", "away"]))
    return model(Format, {"class": "codebook", "bits": bits, "values": values, "tie": tie})  # type: ignore[no-any-return]


def formats(most: int = 16) -> st.SearchStrategy[Format]:
    """Formats of every class, of at most `most` bits where the class allows it."""
    return st.one_of(floats(most), floats(min(most, 8)), integers(min(most, 16)), exponents(min(most, 9)), codebooks(min(most, 5)))


@st.composite
def policies(draw: st.DrawFn, fmt: Format) -> Policy:
    """A policy for one destination, with words that its codes allow."""
    known = derive.codes(fmt)
    outcomes = ["max", "smallest", draw(st.sampled_from(["open", "refuse"]))]
    outcomes += ["nan", "negative_nan"] if known.nan else []
    outcomes += ["inf"] if known.inf is not None else []
    outcomes += ["zero"] if known.has_zero else []

    def pair() -> dict[str, str]:
        return {key: draw(st.sampled_from(outcomes)) for key in ("positive", "negative")}

    fits = ["saturate"]
    if fmt.facts.class_ != "codebook":
        fits += ["wrap", *(["inf", "ieee_inf"] if known.inf is not None else []), *(["nan", "ieee_nan"] if known.nan else [])]
    word = draw(st.sampled_from(fits))
    entry: dict[str, Any] = {"overflow": word, "nan": pair()}
    if word in ("nan", "ieee_nan"):
        entry["overflow_nan"] = {"positive": "nan", "negative": "negative_nan"}
    entry |= {key: pair() for key in ("inf", "zero") if draw(st.integers(0, 3)) == 0}
    if not known.sign_bit and not derive.is_twos_complement(fmt) and fmt.facts.class_ != "codebook" and draw(st.booleans()):
        entry["negative"] = draw(st.sampled_from([word for word in outcomes if word not in ("open", "refuse")]))
        entry |= {"negative_of": "rounded"} if draw(st.booleans()) else {}
    return model(Policy, {"with_nan" if known.nan else "without_nan": entry})  # type: ignore[no-any-return]


def is_answered(entry: EntryCodes) -> bool:
    """Whether the policy knows every code."""
    pairs = (entry.nan, entry.overflow_nan, entry.inf, entry.zero, None if entry.negative is None else (entry.negative,))
    return all(min(pair) >= 0 for pair in pairs if pair is not None)


def dtype_of(fmt: Format) -> type[np.unsignedinteger[Any]]:
    """The unsigned dtype that holds codes."""
    bits = derive.codes(fmt).bits + derive.unused_high_bits(fmt)
    return np.uint8 if bits <= 8 else np.uint16 if bits <= 16 else np.uint32 if bits <= 32 else np.uint64


def some_codes(fmt: Format, seed: int, shape: tuple[int, ...], *, finite: bool = False) -> Any:
    """Codes from a seed: any, beside zero, near 1, and at both ends. finite: neither NaN nor infinity."""
    rng, known = np.random.default_rng(seed), derive.codes(fmt)
    count = int(np.prod(shape))
    bits = known.bits + (derive.unused_high_bits(fmt) if not finite and rng.random() < 0.2 else 0)
    out = rng.integers(0, (1 << bits) - 1, count, np.uint64, endpoint=True)
    if isinstance(fmt.facts, FloatFacts):
        one = min(max(fmt.facts.bias, 0), (1 << fmt.facts.exp_bits) - 1) << fmt.facts.frac_bits
        places = np.array([0, one, known.max_code, known.max_code if known.inf is None else known.inf], np.int64)
        spread = 1 << (fmt.facts.frac_bits + 2)
        near = places[rng.integers(0, 4, count)] + rng.integers(-spread, spread, count) * (rng.random(count) < 0.8)
        near = np.clip(near, 0, (1 << known.magnitude_bits) - 1).astype(np.uint64)
        near |= np.where(rng.random(count) < 0.5, np.uint64(known.sign_bit), np.uint64(0))
        out = np.where(rng.random(count) < 0.7, near, out)
    if finite:
        out = np.array([code if derive.is_finite_code(int(code), fmt) else 0 for code in out], np.uint64)
    return out.astype(dtype_of(fmt)).reshape(shape)


def random_for(rounding: Rounding, seed: int, count: int) -> Any:
    """Random integers for a rounding that draws, None for another."""
    if not rounding.random_bits:
        return None
    facts = rounding.facts.random
    bits, lanes = (facts.word, facts.lanes) if isinstance(facts, Word) else (rounding.random_bits, 1)
    return np.random.default_rng(seed).integers(0, 1 << bits, -(-count // lanes), np.uint64)


def yaml_text(data: dict[str, Any]) -> str:
    """A spec file as the strict loader reads it: one key a line, keys bare, strings quoted."""

    def plain(value: Any) -> str:
        if isinstance(value, dict):
            return "{" + ", ".join(f"{key}: {plain(item)}" for key, item in value.items()) + "}"
        return "[" + ", ".join(map(plain, value)) + "]" if isinstance(value, list | tuple) else json.dumps(value, ensure_ascii=False)

    return "".join(f"{key}: {plain(value)}\n" for key, value in data.items())


@contextmanager
def loaded(*objects: SpecObject | dict[str, Any]) -> Iterator[None]:
    """The objects in the registry, by way of files that the loader checks. Raises: SpecError (an object that it refuses)."""
    for kind in ("format", "block", "recipe", "datapath"):  # the loader reads all files of a kind: once, not at each time
        for name in names(kind):
            get(kind, name)
    with TemporaryDirectory() as folder, restored():
        for thing in objects:
            data = thing if isinstance(thing, dict) else thing.model_dump(mode="json", by_alias=True, exclude_none=True)
            for key in ("aliases", "expect"):
                data.pop(key, None)
            (Path(folder) / f"{data['id']}.yaml").write_text(yaml_text(data), encoding="utf-8")
        load_spec(folder)
        yield
