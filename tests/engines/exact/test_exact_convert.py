"""convert of the reference model: every worked row of published converters under its policy; what is left out is counted, with the reason.

The rows lie in rows/, one file per implementation. Independent code here: thresholds of E2M1, the walk of one bit through a shared word.
"""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from emu.base.errors import OpenError, OperandError, SpecError
from emu.engines.exact.codebook import round_to_codebook
from emu.engines.exact.convert import convert_code
from emu.engines.exact.decode import decode_code
from emu.engines.exact.random_bits import element_bits
from emu.engines.exact.round import Position, locate, round_value
from emu.engines.exact.value import Value
from emu.spec.loader import read
from emu.spec.models.format import Format
from emu.spec.registry import get, names

ROWS = Path(__file__).parent / "rows"
POLICIES = {  # (implementation, its overflow flag) -> policy
    ("cuda_host", "sat"): "nvidia",
    ("cuda_host", "nosat"): "nvidia_nosat",
    ("cuda_host", "none"): "nvidia",
    ("ptx_cvt", "sat"): "nvidia",
    ("exact", "sat"): "nvidia",
    ("exact", "nosat"): "nvidia_nosat",
    ("exact", "none"): "nvidia",
    ("ptx_share16", "none"): "nvidia",
    ("ptx_split8", "none"): "nvidia",
    ("b200_bitrev", "none"): "nvidia",
    ("amd_hip_host", "sat"): "amd",
    ("x86_ace", "sat"): "x86",
    ("onnx_reference", "sat"): "onnx_reference_sat",
    ("onnx_reference", "nosat"): "onnx_reference_nosat",
    ("onnx_spec", "none"): "onnx_spec",
    ("gfloat", "sat"): "gfloat_sat",
    ("gfloat", "nosat"): "gfloat_nosat",
    ("ml_dtypes", "none"): "ml_dtypes",
    ("torch_cpu", "none"): "torch",
    ("torchao", "none"): "torchao",
    ("te_software", "sat"): "te_software",
    ("riscv_zvfofp8min", "none"): "riscv_zvfofp8min",
}
ROUNDINGS = {"rne_value_ties_up": "rna", "sr_fma8": "sr_te_fma8", "none": "rne"}
LEFT_OUT = {  # (policy, destination) without an entry -> what no policy can say
    ("gfloat_sat", "e8m0"): "tiny numbers become NaN",
    ("gfloat_nosat", "e8m0"): "tiny numbers become NaN",
    ("gfloat_nosat", "e2m1"): "overflow raises",
    ("gfloat_nosat", "e2m3"): "overflow raises",
    ("gfloat_nosat", "e3m2"): "overflow raises",
    ("ml_dtypes", "e8m0"): "not the nearest code just above 2^-127",
    ("ml_dtypes", "int4"): "fraction cut, low four bits kept",
    ("torch", "e8m0"): "not the nearest code just above 2^-127",
    ("onnx_reference_sat", "e8m0"): "not the nearest code just above 2^-127; up moves an exact number",
    ("onnx_reference_nosat", "e8m0"): "not the nearest code just above 2^-127; up moves an exact number",
}
RUN = {  # policy -> rows
    "amd": 105,
    "gfloat_nosat": 36,
    "gfloat_sat": 90,
    "ml_dtypes": 130,
    "nvidia": 1170,
    "nvidia_nosat": 214,
    "onnx_reference_nosat": 72,
    "onnx_reference_sat": 90,
    "onnx_spec": 2,
    "riscv_zvfofp8min": 4,
    "te_software": 78,
    "torch": 72,
    "torchao": 54,
    "x86": 47,
}
OUT = {  # (policy, destination) -> rows
    ("amd", "e2m1"): 2,
    ("gfloat_nosat", "e2m1"): 18,
    ("gfloat_nosat", "e2m3"): 18,
    ("gfloat_nosat", "e3m2"): 18,
    ("gfloat_nosat", "e8m0"): 25,
    ("gfloat_sat", "e8m0"): 25,
    ("ml_dtypes", "e8m0"): 25,
    ("ml_dtypes", "int4"): 18,
    ("onnx_reference_nosat", "e8m0"): 75,
    ("onnx_reference_sat", "e8m0"): 75,
    ("torch", "e8m0"): 25,
}
FP32 = get("format", "fp32")


def load_groups() -> list[dict[str, Any]]:
    """Groups of rows with the same source, destination, rounding and flag; the implementation is the file's name."""
    return [{**group, "by": path.stem} for path in sorted(ROWS.glob("*.yaml")) for group in read(path).data["groups"]]


GROUPS = load_groups()


def policy_name(group: dict[str, Any]) -> str:
    return POLICIES[group["by"], group["overflow"]]


def is_left_out(group: dict[str, Any]) -> bool:
    """Left out: no policy can say it, or the row has a NaN scale as a second operand, which a conversion has not."""
    return (policy_name(group), group["to"]) in LEFT_OUT or "scale" in group


def name_of(group: dict[str, Any]) -> str:
    return "-".join(group[key] for key in ("by", "kind", "source", "to", "rounding", "overflow", "via"))


def shown(code: int, source: Any, to: Any, rounding: Any, policy: Any, random: int | None = None) -> str:
    """The result as the rows write it; a refusal and an open answer have their words."""
    try:
        return f"{convert_code(code, source, to, rounding, policy, random):X}"
    except OpenError:
        return "open"
    except OperandError:
        return "refused"


def wanted_word(group: dict[str, Any], code: int, wanted: str) -> str:
    """What the policy must answer to a row: its code, or open where the library's answer depends on the payload of a NaN."""
    is_nan = decode_code(code, get("format", group["source"])).kind == "nan"
    payload = group["by"] == "torchao" or (group["kind"] == "decode" and group["to"] == "fp32")
    return "open" if is_nan and payload else wanted if wanted == "refused" else f"{int(wanted, 16):X}"


def run_group(group: dict[str, Any]) -> list[tuple[str, str, str]]:
    """Return (id, got, wanted) of every row of a group that takes one element."""
    rounding = get("rounding", ROUNDINGS.get(group["rounding"], group["rounding"]))
    policy, to = get("policy", policy_name(group)), get("format", group["to"])
    via = "fp32_rne" if (group["by"], group["source"]) == ("ml_dtypes", "fp64") else group["via"]
    unused = 10 if group["rounding"] == "sr_amd22" else 0  # the rows hold a seed of 32 bits, its top 22 are added
    found = []
    for name, *given, wanted in (row.split() for row in group["rows"]):
        code, source = int(given[0], 16), get("format", group["source"])
        expected = wanted_word(group, code, wanted)
        if via != "none":
            middle, mode = via.split("_")
            code = convert_code(code, source, get("format", middle), get("rounding", mode), get("policy", "ieee"))
            source = get("format", middle)
        random = int(given[1], 16) >> unused if group["kind"] == "sr" else None
        found.append((name, shown(code, source, to, rounding, policy, random), expected))
    return found


SINGLE = [group for group in GROUPS if group["kind"] != "sr4" and not is_left_out(group)]
SHARED = [group for group in GROUPS if group["kind"] == "sr4"]


def test_every_row_is_here() -> None:
    kinds = Counter(group["kind"] for group in GROUPS for _ in group["rows"])
    assert kinds == {"convert": 2042, "decode": 106, "sr": 171, "sr4": 117, "two_step": 52}
    ids = [row.split()[0] for group in GROUPS for row in group["rows"]]
    assert len(ids) == len(set(ids)) == 2488
    statuses = Counter(group["status"] for group in GROUPS for _ in group["rows"])
    assert statuses == {"measured": 2205, "inferred": 271, "vendor": 12}


@pytest.mark.parametrize("group", SINGLE, ids=map(name_of, SINGLE))
def test_row(group: dict[str, Any]) -> None:
    found = run_group(group)
    assert found
    assert [item[:2] for item in found] == [(name, wanted) for name, _, wanted in found], group["from"]


def test_rows_run_for_each_policy() -> None:
    run = Counter(policy_name(group) for group in (*SINGLE, *SHARED) for _ in group["rows"])
    assert run == RUN
    out = Counter((policy_name(group), group["to"]) for group in GROUPS if is_left_out(group) for _ in group["rows"])
    assert out == OUT
    assert sum(run.values()) + sum(out.values()) == 2488
    is_open = Counter(group["by"] for group in SINGLE for _, _, wanted in run_group(group) if wanted == "open")
    assert is_open == {"torchao": 9, "cuda_host": 7}
    refused = Counter(policy_name(group) for group in SINGLE for _, _, wanted in run_group(group) if wanted == "refused")
    assert refused == {"gfloat_sat": 9}


@pytest.mark.parametrize(("policy", "to"), LEFT_OUT)
def test_left_out_rows_have_no_policy(policy: str, to: str) -> None:
    """The policy has no entry, and for a reason: a finite number is not rounded as any mode rounds it, or raises."""
    with pytest.raises(SpecError, match=f"{policy} says nothing of {to}"):
        convert_code(0, FP32, get("format", to), get("rounding", "rne"), get("policy", policy))
    rows = [(group, row.split()) for group in GROUPS if (policy_name(group), group["to"]) == (policy, to) for row in group["rows"]]
    assert any(disagrees(group, row) for group, row in rows)


def disagrees(group: dict[str, Any], row: list[str]) -> bool:
    """Does a finite number raise, or a small one not go where its mode sends it?"""
    value = decode_code(int(row[1], 16), FP32)
    to = get("format", group["to"])
    if row[2] == "refused":
        return value.kind == "finite"
    if value.kind != "finite" or value.magnitude > 8 or (value.sign and group["to"] == "e8m0"):
        return False
    near = {"onnx_up": "ru", "onnx_down": "rz"}.get(group["rounding"], "rna" if to.id == "e8m0" and group["by"] != "gfloat" else "rne")
    return int(row[2], 16) != convert_code(int(row[1], 16), FP32, to, get("rounding", near), get("policy", "nvidia"))


def lanes(rounding: str, elements: list[int], word: int) -> list[int]:
    """Codes of elements 0 to 3 that share one random word."""
    mode = get("rounding", rounding)
    e2m1, policy = get("format", "e2m1"), get("policy", "nvidia")
    return [convert_code(code, FP32, e2m1, mode, policy, element_bits(word, mode, lane)) for lane, code in enumerate(elements)]


@pytest.mark.parametrize("group", SHARED, ids=map(name_of, SHARED))
def test_shared_word_row(group: dict[str, Any]) -> None:
    assert len(group["rows"]) == 39
    for row in group["rows"]:
        name, *operands, word, wanted = row.split()
        found = lanes(f"sr_{group['by']}", [int(code, 16) for code in reversed(operands)], int(word, 16))  # a b e f: elements 3 2 1 0
        assert "".join(f"{code:X}" for code in reversed(found)) == wanted, name


@pytest.mark.parametrize(
    ("rounding", "bits"),  # the bit of the word that moves element 0, 1, 2, 3
    [
        ("sr_ptx_share16", [23, 23, 31, 31]),
        ("sr_ptx_split8", [7, 23, 15, 31]),
        ("sr_b200_bitrev", [23, 0, 31, 8]),
        ("sr_te_sw8", [7, 15, 23, 31]),
    ],
)
def test_one_bit_walks_through_a_shared_word(rounding: str, bits: list[int]) -> None:
    """129/512 goes up when 129 or 33024 plus the integer carries: its most significant bit alone does that."""
    moved: list[list[int]] = [[], [], [], []]
    for bit in range(32):
        for lane, code in enumerate(lanes(rounding, [0x3E810000] * 4, 1 << bit)):
            moved[lane] += [bit] if code else []
    assert moved == [[bit] for bit in bits]


@pytest.mark.exhaustive
def test_every_bf16_number_against_the_thresholds_of_e2m1() -> None:
    bf16, e2m1, rne, policy = get("format", "bf16"), get("format", "e2m1"), get("rounding", "rne"), get("policy", "nvidia")
    limits = [(Fraction(1, 4), True), (Fraction(3, 4), False), (Fraction(5, 4), True), (Fraction(7, 4), False)]
    limits += [(Fraction(5, 2), True), (Fraction(7, 2), False), (Fraction(5), True)]
    for code in range(0x7F80):
        field, fraction = code >> 7, code & 0x7F
        value = (fraction + (128 if field else 0)) * Fraction(2) ** (max(field, 1) - 134)
        wanted = sum(value > limit or (value == limit and not down) for limit, down in limits)
        assert convert_code(code, bf16, e2m1, rne, policy) == wanted
        assert convert_code(code | 0x8000, bf16, e2m1, rne, policy) == wanted | 8


@pytest.mark.parametrize(
    ("rounding", "counts"),  # how many of the 256 integers move 129/512, 1/1024, 5/2048, 1/2: discarded parts of 129, 1/2, 5/4, 0 in 256
    [("sr_add8", [129, 0, 1, 0]), ("sr_cmp8", [129, 1, 2, 0]), ("sr_half8", [129, 1, 1, 0]), ("sr_te_fma8", [129, 0, 1, 0])],
)
def test_draws_that_go_up(rounding: str, counts: list[int]) -> None:
    e2m1, mode, policy = get("format", "e2m1"), get("rounding", rounding), get("policy", "nvidia")
    found = []
    for code, below in ((0x3E810000, 0), (0x3A800000, 0), (0x3B200000, 0), (0x3F000000, 1)):
        draws = Counter(convert_code(code, FP32, e2m1, mode, policy, random) for random in range(256))
        assert set(draws) <= {below, below + 1}
        found.append(draws[below + 1])
    assert found == counts


@pytest.mark.parametrize(
    ("rounding", "policy", "wanted"),
    [
        ("rz", "nvidia_nosat", (0x7B, 0xFB, 0x7C)),
        ("ru", "nvidia_nosat", (0x7C, 0xFB, 0x7C)),
        ("rd", "nvidia_nosat", (0x7B, 0xFC, 0x7C)),
        ("odd", "nvidia_nosat", (0x7B, 0xFB, 0x7C)),
        ("rna", "nvidia_nosat", (0x7C, 0xFC, 0x7C)),
        ("rz", "nvidia", (0x7B, 0xFB, 0x7B)),
    ],
)
def test_overflow_sees_mode_sign_and_whether_the_source_was_infinite(rounding: str, policy: str, wanted: tuple[int, ...]) -> None:
    """65536, -65536 and Inf to E5M2: kills inf in the place of ieee_inf."""
    given = (0x47800000, 0xC7800000, 0x7F800000)
    found = [convert_code(x, FP32, get("format", "e5m2"), get("rounding", rounding), get("policy", policy)) for x in given]
    assert found == list(wanted)


def test_operands_that_do_not_fit_are_refused() -> None:
    e2m1, policy = get("format", "e2m1"), get("policy", "nvidia")
    with pytest.raises(OperandError, match="needs a random operand of 8 bits"):
        convert_code(0, FP32, e2m1, get("rounding", "sr_add8"), policy)
    with pytest.raises(OperandError, match="draws nothing"):
        convert_code(0, FP32, e2m1, get("rounding", "rne"), policy, 1)
    with pytest.raises(OperandError, match="does not fit"):
        convert_code(0, FP32, e2m1, get("rounding", "sr_add8"), policy, 256)
    with pytest.raises(OperandError, match="shares no word"):
        element_bits(0, get("rounding", "sr_add8"), 0)
    with pytest.raises(OperandError, match="words of 32 bits for 4 lanes"):
        element_bits(1 << 32, get("rounding", "sr_ptx_split8"), 0)
    with pytest.raises(OpenError, match="convert/e2m1/rne/ocp_saturate: the code of fp32 0x7fc00000 is open"):
        convert_code(0x7FC00000, FP32, e2m1, get("rounding", "rne"), get("policy", "ocp_saturate"))


@pytest.mark.parametrize("name", names("policy"))
def test_example_of_a_policy(name: str) -> None:
    policy = get("policy", name)
    assert policy.expect
    for row in policy.expect:
        source, to, rounding = get("format", row.source), get("format", row.to), get("rounding", row.rounding)
        assert f"0x{convert_code(int(row.x, 16), source, to, rounding, policy, row.random):0{len(row.code) - 2}X}" == row.code, row.why


@pytest.mark.parametrize("name", names("rounding"))
def test_example_of_a_rounding(name: str) -> None:
    rounding = get("rounding", name)
    assert rounding.expect
    for row in rounding.expect:
        sign = row.value.startswith("-")
        base, _, power = row.value.lstrip("-").partition("^")
        value = Value("finite", int(sign), Fraction(2) ** int(power) if power else Fraction(base))
        found = round_value(value, get("format", row.grid), rounding, row.random)
        assert (found.sign, found.magnitude) == (int(row.rounded.startswith("-")), Fraction(row.rounded.lstrip("-"))), row.why


@pytest.mark.parametrize(
    ("name", "least", "step"),
    [("e8m0", Fraction(1, 1 << 127), Fraction(1, 1 << 127)), ("e6m2", Fraction(1, 1 << 48), Fraction(1, 1 << 50))],
)
def test_below_the_least_number_of_a_format_without_zero(name: str, least: Fraction, step: Fraction) -> None:
    """All of it lies on code 0, one step below code 1; a little above the least number is no longer there."""
    fmt = get("format", name)
    for magnitude in (Fraction(0), least / 3, least):
        assert locate(magnitude, fmt) == Position(0, Fraction(0), step)
    assert locate(least + step / 4, fmt) == Position(0, Fraction(1, 4), step)
    assert locate(least + step, fmt)[:2] == (1, 0)


@pytest.mark.parametrize(("tie", "codes"), [("even_code", (0, 2, 2)), ("lower", (0, 1, 2)), ("away", (1, 2, 3))])
def test_ties_of_a_codebook(tie: str, codes: tuple[int, ...]) -> None:
    """Half way between two of 0, 2, 5, 7."""
    facts = {"class": "codebook", "bits": 2, "values": ("0", "2", "5", "7"), "tie": tie}
    fmt = Format.model_validate({"kind": "format", "id": "mine", "title": "t", "status": "proposed", "facts": facts, "sources": ()})
    middles = (Fraction(1), Fraction(7, 2), Fraction(6))
    assert tuple(round_to_codebook(Value("finite", 0, middle), fmt, get("rounding", "rne"), None) for middle in middles) == codes
