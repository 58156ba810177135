"""The C reference against worked rows of published converters, with policies typed here from their documentation."""

from __future__ import annotations

from typing import Any

import pytest

SMALL = {"e2m1": (0x7, 0xF), "e2m3": (0x1F, 0x3F), "e3m2": (0x1F, 0x3F)}
FNUZ = {"nan": (0x80, 0x80), "overflow_nan": (0x80, 0x80)}
FF = {"nan": (0xFF, 0xFF), "overflow_nan": (0xFF, 0xFF)}
ARITHMETIC = {"bf16": (0x7FC0, 0xFFC0), "fp16": (0x7E00, 0xFE00)}

# (policy, destination) -> NaN codes for a positive and a negative NaN
NAN: dict[str, dict[str, tuple[Any, Any]]] = {
    "cuda_host": {
        "e2m1": (7, 7),
        "e2m3": (0x1F, 0x1F),
        "e3m2": (0x1F, 0x1F),
        "e4m3": (0x7F, 0x7F),
        "e5m2": (0x7F, 0x7F),
        "fp16": (0x7FFF, 0x7FFF),
    },
    "ptx_cvt": {"e2m1": (7, 7), "e2m3": (0x1F, 0x1F), "e3m2": (0x1F, 0x1F)},
    "onnx_spec": {"e2m1": (7, 7)},
    "onnx_reference": {"e2m1": (8, 0), "e4m3": (0x7F, 0xFF), "e5m2": (0x7E, 0xFE)},
    "ml_dtypes": {"e2m1": (8, 0), "e2m3": (0x20, 0), "e3m2": (0x20, 0), "e4m3": (0x7F, 0xFF), "e5m2": (0x7E, 0xFE)},
    "torch_cpu": {"e4m3": (0x7F, 0xFF), "e5m2": (0x7F, 0xFF)},
    "amd_hip_host": {**SMALL, "e4m3": (0x7F, 0xFF), "e5m2": (0x7E, 0xFE)},
    "x86_ace": SMALL,
    "te_software": {"e2m1": (7, 7)},
    "riscv_zvfofp8min": {"e4m3": (0x7F, 0x7F), "e5m2": (0x7F, 0x7F)},
    "gfloat": {"e2m1": ("refused",) * 2, "e2m3": ("refused",) * 2, "e3m2": ("refused",) * 2, "e4m3": (0xFF, 0xFF), "e5m2": (0xFF, 0xFF)},
}
OVERFLOW_NAN = {"e4m3": (0x7F, 0xFF), "ue5m3": (0xFF, 0xFF), "e8m0": (0xFF, 0xFF), "e4m3fnuz": (0x80, 0x80), "e5m2fnuz": (0x80, 0x80)}
PROFILES = {  # bits of one word for the operands f, e, b, a: elements 0 to 3
    "ptx_split8": [range(7, -1, -1), range(23, 15, -1), range(15, 7, -1), range(31, 23, -1)],
    "ptx_share16": [[*range(23, 15, -1), *range(7, -1, -1)]] * 2 + [[*range(31, 23, -1), *range(15, 7, -1)]] * 2,
    "b200_bitrev": [
        [*range(23, 15, -1), *range(7, -1, -1)],
        [*range(8), *range(16, 24)],
        [*range(31, 23, -1), *range(15, 7, -1)],
        [*range(8, 16), *range(24, 32)],
    ],
}


def overflow_word(policy: str, flag: str, to: str) -> str:
    """What the API that was run does with values beyond the maximum."""
    saturates = {"torch_cpu": to == "e4m3", "amd_hip_host": to != "e4m3", "ml_dtypes": to in SMALL}
    if (
        (flag == "sat" and policy != "amd_hip_host")
        or saturates.get(policy, False)
        or to in (*SMALL, "ue4m3", "int4", "e0m3", "e1m2", "e3m0")
    ):
        return "saturate"
    return "ieee_inf" if to in ("e5m2", "bf16", "fp16") else "ieee_nan"


def policy_of(c: Any, group: dict[str, Any], to: str) -> Any:
    name, word = group["policy"], overflow_word(group["policy"], group["overflow"], to)
    nan = NAN.get(name, {}).get(to) or OVERFLOW_NAN.get(to) or ("open", "open")
    more: dict[str, Any] = {"zero": (0xFF, 0xFF), "negative": 0xFF} if (name, to) == ("ml_dtypes", "e8m0") else {}
    overflow_nan = (0xFF, 0xFF) if name == "gfloat" else OVERFLOW_NAN.get(to)
    return c.policy(word, nan, overflow_nan=overflow_nan if word == "ieee_nan" else None, **more)


def codes(words: list[str]) -> list[int]:
    return [int(word, 16) for word in words]


def of_kind(groups: list[dict[str, Any]], kind: str, minimum: int) -> list[tuple[dict[str, Any], list[list[str]]]]:
    """Groups of one kind with their rows split; fewer rows than were written is a fault."""
    found = [(group, [row.split() for row in group["rows"]]) for group in groups if group["kind"] == kind]
    assert sum(len(rows) for _, rows in found) >= minimum
    return found


def test_converts_every_worked_row(c: Any, worked_rows: list[dict[str, Any]]) -> None:
    for group, rows in of_kind(worked_rows, "convert", 1700):
        rounding = "rna" if group["rounding"] == "rne_value_ties_up" else group["rounding"]
        inputs, wanted = [row[0] for row in rows], [row[1] for row in rows]
        got, unanswered = c.convert(codes(inputs), group["source"], group["to"], rounding, policy_of(c, group, group["to"]))
        answers = zip(got, unanswered, wanted, strict=True)
        shown = ["refused" if state == 2 else "open" if state else f"{code:0{len(want)}X}" for code, state, want in answers]
        what = {key: group[key] for key in group if key != "rows"}
        assert list(zip(inputs, shown, strict=True)) == list(zip(inputs, wanted, strict=True)), what


def test_decodes_every_worked_row(c: Any, worked_rows: list[dict[str, Any]]) -> None:
    nan = {"fp32": 0x7F800000, "fp16": 0x7C00, "bf16": 0x7F80}
    for group, rows in of_kind(worked_rows, "decode", 100):
        policy = c.policy("ieee_inf", ("open", "open"))
        got, unanswered = c.convert(codes([row[0] for row in rows]), group["source"], group["to"], "rne", policy)
        for row, code, state in zip(rows, got, unanswered, strict=True):
            wanted = int(row[1], 16)
            is_nan = wanted & nan[group["to"]] == nan[group["to"]] and wanted & (nan[group["to"]] - 1) & 0x7FFFFF & ~nan[group["to"]] != 0
            assert (state == 1) if is_nan else (code, state) == (wanted, 0), (group["source"], row)


def test_two_steps_round_twice(c: Any, worked_rows: list[dict[str, Any]]) -> None:
    for group, rows in of_kind(worked_rows, "two_step", 50):
        inputs, source = codes([row[0] for row in rows]), "fp32"
        if group["via"] != "none":
            source, rounding = group["via"].split("_")
            inputs, _ = c.convert(inputs, "fp32", source, rounding, c.policy("ieee_inf", ARITHMETIC[source]))
        got, _ = c.convert(inputs, source, group["to"], "rne", policy_of(c, group, group["to"]))
        assert got == codes([row[1] for row in rows]), group


def test_draws_every_worked_row(c: Any, worked_rows: list[dict[str, Any]]) -> None:
    roundings = {"sr_add8": ("add", 8, 0), "sr_fma8": ("te_fma", 8, 0), "sr_amd22": ("add", 22, 10)}
    for group, rows in of_kind(worked_rows, "sr", 171):
        add, bits, unused = roundings[group["rounding"]]
        random = [int(row[1], 16) >> unused for row in rows]
        got, _ = c.convert(codes([row[0] for row in rows]), "fp32", "e2m1", c.rounding(add, bits), policy_of(c, group, "e2m1"), random)
        assert [(*row[:2], f"{code:X}") for row, code in zip(rows, got, strict=True)] == [tuple(row) for row in rows], group["rounding"]


@pytest.mark.parametrize("profile", PROFILES)
def test_splits_shared_words(c: Any, worked_rows: list[dict[str, Any]], profile: str) -> None:
    places = [list(lane) for lane in PROFILES[profile]]
    bits, seen = len(places[0]), 0
    for group, rows in of_kind(worked_rows, "sr4", 117):
        if group["policy"] != profile:
            continue
        for row in rows:
            random = c.ffi.new("uint32_t[4]")
            flat = bytes(bit for lane in places for bit in lane)
            assert c.lib.emu_split_words([int(row[4], 16)], flat, 4, bits, 4, random) == 0
            elements = codes(row[3::-1])  # operands a b e f are elements 3 2 1 0
            got, _ = c.convert(elements, "fp32", "e2m1", c.rounding("add", bits), c.policy("saturate", (7, 7)), list(random))
            assert "".join(f"{code:X}" for code in reversed(got)) == row[5], row
            seen += 1
    assert seen == 39
