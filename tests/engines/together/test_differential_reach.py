"""How far numbers reach: codebooks of any shape and formats one binade inside and outside of each shortcut, beside every decision point."""

from __future__ import annotations

from fractions import Fraction
from importlib.util import module_from_spec, spec_from_file_location
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import emu
from emu import strategies
from emu.base.errors import EmuError, EngineError, SpecError
from emu.engines import run as engine_run
from emu.engines.exact.convert import convert_value
from emu.engines.exact.value import Value, finite
from emu.engines.table import TABLE
from emu.spec import derive
from emu.spec.models import Format, Policy, Rounding
from emu.spec.one_table import table_is_exact
from emu.spec.reach import reach
from emu.spec.registry import get

SPEC = spec_from_file_location("user_objects_of_reach", Path(__file__).with_name("user_objects.py"))
assert SPEC is not None and SPEC.loader is not None
USER: Any = module_from_spec(SPEC)
SPEC.loader.exec_module(USER)

BOOKS = {
    "signs of other magnitudes": ("even_code", "-7 -6 -5 -4 -3 -2 -1 0 1/16 1/8 16 20 24 28 32 36"),
    "one side": ("lower", "0 1/3 1 9 10 65536 100000 3000000"),
    "negative alone": ("away", "-1 -3 -9 -1/7 -100 -5 -6 -8"),
    "unsorted": ("even_code", "3 0 -100 1/2 -1/4 2^100 -2^-60 5"),
    "equal numbers": ("even_code", "0 1 2 4 6 6 6 6"),
    "equal numbers, equal ends": ("lower", "-9 -9 0 -0 1 5 5 5"),
    "zero of both signs at the end": ("even_code", "0 -37/3 -31/8 -0"),
    "zero of both signs at the other end": ("away", "0 37/3 31/8 -0"),
    "minus zero alone": ("away", "-0 3 8 -2"),
    "minus zero twice": ("lower", "-0 -0 8 -2"),
    "one number": ("even_code", "5/2 5/2"),
    "one zero": ("even_code", "0 0"),
    "zeros": ("away", "-0 0"),
    "far": ("away", "0 2^127 2^128 2^1000"),
    "near": ("lower", "0 2^-1074 2^-1000 2^-132"),
}
TO_MAX: Policy = USER.model(Policy, {"without_nan": {"overflow": "saturate", "nan": {"positive": "max", "negative": "max"}}})
DETERMINISTIC = ("rne", "rna", "rz", "ru", "rd")
LIMITS = {"top": (127, 15, 1023), "unit": (-133, -149, -24, -1074)}  # exponents: the last binade of bf16, fp16, fp64; the last bits


def book(tie: str, values: str) -> Format:
    listed = tuple(values.split())
    facts = {"class": "codebook", "bits": len(listed).bit_length() - 1, "values": listed, "tie": tie}
    return USER.model(Format, facts)  # type: ignore[no-any-return]


def points_of(fmt: Format) -> list[Fraction]:
    """Numbers, middles, and a codebook's ends doubled; of both signs."""
    sizes = strategies.decision_points(fmt)
    return sorted({point * sign for point in (*sizes, 2 * sizes[-1]) for sign in (1, -1)})


def codes_beside(fmt: Format, source: Format) -> Any:
    """Codes of the source beside each decision point, of zeros and of what lies at its own ends."""
    known = derive.codes(source)
    steps = (-1, 0, 1, 2)
    near = [code | known.sign_bit * (point < 0) for point in points_of(fmt) for code in strategies.codes_near(abs(point), source, steps)]
    assert known.inf is not None
    ends = [code | sign for code in (0, 1, known.max_code, known.inf, known.nan[0]) for sign in (0, known.sign_bit)]
    return np.array(sorted({*near, *ends}), USER.dtype_of(source))


def agreed(codes: Any, source: str, fmt: Format, rounding: Rounding, policy: Policy = TO_MAX) -> Any:
    """The reference model's codes, which every engine gives that does not say aloud that it cannot; None where it refuses them."""
    facts = get("format", source), fmt, rounding, policy
    found: dict[str, Any] = {}
    for engine in ("exact", *(row.engine for row in TABLE if row.operation == "convert" and row.can(*facts)), "auto"):
        try:
            found[engine] = engine_run.run_convert(codes, *facts, None, engine).tolist()
        except EngineError:
            assert engine not in ("exact", "auto"), "the reference model knows everything"
        except EmuError as error:
            found[engine] = type(error)
    same = all(codes == found["exact"] for codes in found.values())
    assert {"exact", "auto"} < set(found) and same, (fmt.facts, source, rounding.id, found)
    return None if isinstance(found["exact"], type) else found["exact"]


def right_code(value: Fraction, values: list[Fraction], tie: str) -> int:
    """The nearest of the listed numbers by a search through all, the first code of equal ones; the stated tie."""
    least = min(abs(number - value) for number in values)
    best = sorted({number for number in values if abs(number - value) == least})
    low, high = (values.index(number) for number in (best[0], best[-1]))
    if low == high or tie == "lower":
        return low
    return (low if value < 0 else high) if tie == "away" else low if low % 2 == 0 else high


@pytest.mark.parametrize("name", BOOKS)
def test_codebooks_beside_every_middle(name: str) -> None:
    fmt = book(*BOOKS[name])
    for source in ("fp32", "fp64", "bf16", "fp16"):
        codes = codes_beside(fmt, get("format", source))
        for mode in DETERMINISTIC:
            assert agreed(codes, source, fmt, get("rounding", mode))


@pytest.mark.parametrize("name", [name for name, (_, values) in BOOKS.items() if "-0" not in values])
def test_the_reference_model_takes_the_nearest_and_the_first(name: str) -> None:
    tie, text = BOOKS[name]
    values, fmt = [derive.parse_exact(word) for word in text.split()], book(tie, text)
    middles = [(a + b) / 2 for a, b in pairwise(sorted(set(values)))]
    for point in {*values, *middles, *(2 * value for value in values), *(middle * Fraction(1001, 1000) for middle in middles)}:
        if point:
            code = convert_value(finite(point), fmt, get("rounding", "rne"), derive.policy_entry(TO_MAX, fmt))
            assert code == right_code(point, values, tie)


@pytest.mark.parametrize(("sign", "code"), [(0, 0), (1, 1)])
def test_infinity_goes_where_numbers_beyond_the_end_go(sign: int, code: int) -> None:
    fmt = book("even_code", "0 -37/3 -31/8 -0")
    entry = derive.policy_entry(TO_MAX, fmt)
    far = finite(Fraction(-1000 if sign else 1000))
    assert [convert_value(value, fmt, get("rounding", "rne"), entry) for value in (Value("inf", sign), far)] == [code, code]


@st.composite
def codebooks(draw: st.DrawFn) -> Format:
    """Numbers of very different sizes, of one sign or both, equal ones and zeros of both signs among them, in any order."""
    bits = draw(st.integers(1, 5))
    exps = st.integers(-9, 9) | st.sampled_from([-140, -126, 100, 125])
    number = st.builds(lambda whole, exp: str(whole * Fraction(2) ** exp), st.integers(1, 9), exps)
    signs = draw(st.sampled_from([("",), ("-",), ("", "-")]))
    pool = draw(st.lists(st.builds(lambda sign, text: sign + text, st.sampled_from(signs), number), min_size=1, max_size=1 << bits))
    listed = draw(st.lists(st.sampled_from([*pool, "0", "-0"]), min_size=1 << bits, max_size=1 << bits))
    if len(signs) == 2 and not {"0", "-0"} & set(listed):
        listed[draw(st.integers(0, (1 << bits) - 1))] = "0"
    return book(draw(st.sampled_from(["even_code", "lower", "away"])), " ".join(listed))


@pytest.mark.parametrize("examples", [20, pytest.param(300, marks=pytest.mark.exhaustive)])
def test_drawn_codebooks(examples: int) -> None:
    @settings(max_examples=examples)
    @given(codebooks(), st.sampled_from(["fp32", "fp64", "bf16", "fp16"]), st.sampled_from(DETERMINISTIC))
    def check(fmt: Format, source: str, mode: str) -> None:
        codes = codes_beside(fmt, get("format", source))
        assert agreed(codes, source, fmt, get("rounding", mode))

    check()


def by_order(place: str, choice: str, signs: tuple[str, ...]) -> Rounding:
    """A rounding of a user that asks for odd or even codes in one of its three places."""
    rule = {"zero": "keep", "less_than_half": "keep", "half": "next", "more_than_half": "next", place: choice}
    facts = {"random": "none", "sees_sign": "no" if signs == ("magnitude",) else "yes", **dict.fromkeys(signs, rule)}
    return USER.model(Rounding, facts | {"beyond_max": {"positive": "max", "negative": "max"}})  # type: ignore[no-any-return]


@pytest.mark.parametrize("signs", [("magnitude",), ("positive", "negative")])
@pytest.mark.parametrize("place", ["less_than_half", "half", "more_than_half"])
@pytest.mark.parametrize("choice", ["to_odd_code", "to_even_code"])
def test_roundings_by_code_order_and_codebooks(choice: str, place: str, signs: tuple[str, ...]) -> None:
    """Each engine refuses them in the same line, but for even codes at a tie, which the codebook breaks."""
    rounding, fp32 = by_order(place, choice, signs), get("format", "fp32")
    for fmt in (get("format", "nf4"), book("even_code", "1 2"), book("away", "-1 0"), book("lower", "5/2 5/2")):
        codes = codes_beside(fmt, fp32)
        if (choice, place) == ("to_even_code", "half"):
            assert agreed(codes, "fp32", fmt, rounding)
            continue
        said = set()
        for engine in {row.engine for row in TABLE if row.operation == "convert"} | {"auto"}:
            with pytest.raises(SpecError) as refused:
                engine_run.run_convert(codes, fp32, fmt, rounding, TO_MAX, None, engine)
            said.add(str(refused.value))
        assert said == {f"rounding drawn needs a format with a regular grid, {fmt.id} is a codebook: say another round"}


def moved(fmt: Format, end: str, exp: int) -> Format:
    """The format with the exponent of its largest number, or of its last bit, at a place."""
    known = reach(fmt)
    top = known.largest.numerator.bit_length() - known.largest.denominator.bit_length()
    top -= known.largest < Fraction(2) ** top
    by = exp - (top if end == "top" else known.lsb_exp)
    key, sign = ("unit_exp", 1) if fmt.facts.class_ == "integer" else ("bias", -1)
    facts = fmt.facts.model_copy(update={key: getattr(fmt.facts, key) + sign * by})
    return fmt.model_copy(update={"facts": facts})


def in_range(fmt: Format) -> bool:
    """Whether the loader takes it: every number is one of binary64."""
    return reach(fmt).lsb_exp >= -1074 and reach(fmt).largest < Fraction(2) ** 1024


@pytest.mark.parametrize("examples", [25, pytest.param(600, marks=pytest.mark.exhaustive)])
def test_formats_one_binade_inside_and_outside_of_every_limit(examples: int) -> None:
    small = st.one_of(USER.floats(8), USER.exponents(8), USER.integers(8), USER.floats(10))
    places = [(end, limit + step) for end, limits in LIMITS.items() for limit in limits for step in (-1, 0, 1, 2)]
    asked = set()

    @settings(max_examples=examples)
    @given(small, st.sampled_from(places), st.sampled_from(["fp32", "fp64", "fp64", "bf16", "fp16"]), st.data())
    def check(given_format: Format, place: tuple[str, int], source: str, data: st.DataObject) -> None:
        fmt = moved(given_format, *place)
        if not in_range(fmt):
            return
        policy, mode = data.draw(USER.policies(fmt)), data.draw(st.sampled_from([*DETERMINISTIC, "odd"]))
        codes = codes_beside(fmt, get("format", source))
        codes = codes[:: max(len(codes) // 100, 1)]
        if agreed(codes, source, fmt, get("rounding", mode), policy):
            asked.add(place)

    check()
    assert len(asked) > 5


def test_powers_of_two_beyond_bf16_have_no_table_over_it() -> None:
    powers = USER.model(Format, {"class": "exponent", "signed": "no", "bits": 8, "bias": 0, "nan": "none"})
    rne, entry = get("rounding", "rne"), derive.EntryCodes("saturate", (0, 0))
    assert table_is_exact(get("format", "fp32"), powers, rne, entry) and not table_is_exact(get("format", "fp64"), powers, rne, entry)
    code = np.array([2.0**200]).view(np.uint64)
    for engine in ("exact", "numpy", "c_ref", "auto"):
        assert engine_run.run_convert(code, get("format", "fp64"), powers, rne, TO_MAX, None, engine).tolist() == [200]


def test_quantizing_to_a_codebook_with_signs_of_other_magnitudes() -> None:
    """By every engine, beside every middle; 8.0625 is half way between 1/8 and 16."""
    fmt = book(*BOOKS["signs of other magnitudes"]).model_copy(update={"id": "lopsided"})
    block = {
        "kind": "block",
        "id": "of_lopsided",
        **USER.ABOUT,
        "facts": {
            "element": {"format": "lopsided"},
            "shape": [1, 4],
            "packing": "none",
            "scale_layout": "row_major",
            "levels": [{"name": "scale", "format": "fp32", "granularity": "block", "meaning": "multiply"}],
        },
    }
    steps: list[dict[str, Any]] = [
        {"out": "scale_value", "op": "amax", "args": ["x"], "nan": "propagate", "at": "block"},
        {"out": "codes", "op": "cast", "args": ["x"], "to": "lopsided"},
        {"op": "emit", "codes": "codes", "levels": {"scale": "scale_value"}},
    ]
    back = [{"out": "v", "op": "decode", "args": ["codes"]}, {"op": "emit", "values": "v"}]
    facts = {"block": "of_lopsided", "tail": "error", "arithmetic": {"to": "fp32", "round": "rne"}, "domain": {"non_finite": "no"}}
    recipe = {"kind": "recipe", "id": "to_lopsided", **USER.ABOUT, "facts": {**facts, "steps": steps, "dequantize": {"exact": back}}}
    with USER.loaded(fmt, block, recipe):
        points = [np.float32(float(point)) for point in points_of(fmt)]
        x = np.array([np.nextafter(point, np.float32(side)) for point in points for side in (-1e9, 1e9)], np.float32)
        x = np.concatenate([x, np.array([8.0624, 8.0], np.float32), np.zeros(-(len(x) + 2) % 4, np.float32)]).reshape(-1, 4)
        wanted = emu.quantize(x, "to_lopsided", engine="exact").codes
        values = [derive.parse_exact(word) for word in BOOKS["signs of other magnitudes"][1].split()]
        assert wanted.reshape(-1).tolist() == [right_code(Fraction(float(number)), values, "even_code") for number in x.reshape(-1)]
        for row in TABLE:
            if row.operation == "quantize" and row.can(get("recipe", "to_lopsided"), get("format", "fp32")):
                assert np.array_equal(emu.quantize(x, "to_lopsided", engine=row.engine).codes, wanted), row.engine
