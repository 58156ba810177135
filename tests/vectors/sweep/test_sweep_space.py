"""What is planned: every combination that the spec has, every input once, and inputs worth the reference model's time."""

from __future__ import annotations

from itertools import pairwise, product

import numpy as np
import pytest

from emu.base.errors import SpecError
from emu.spec import derive
from emu.spec.registry import get, names
from emu.vectors import sweep as sweeps
from emu.vectors.sweep import inputs, judge

PLANNED = sweeps.planned()
BY_NAME = {one.name: one for one in PLANNED}
NARROW = [name for name in names("format") if derive.codes(get("format", name)).bits == 4]


def test_names_are_distinct_and_every_sweep_has_a_spec_digest() -> None:
    assert len(BY_NAME) == len(PLANNED)
    assert len({one.spec_sha256 for one in PLANNED}) == len(PLANNED)


def test_every_policy_and_rounding_of_every_format_is_swept() -> None:
    """By the contracts of the spec: each convert/<4-bit>/<rounding>/<policy> has its finite and its special sweep."""
    seen = 0
    for fmt, source in product(NARROW, ("fp32", "bf16", "fp16")):
        for policy in names("policy"):
            try:
                entry = derive.policy_entry(get("policy", policy), get("format", fmt))
            except SpecError:
                continue
            special = [
                one for one in PLANNED if one.kind == "special" and one.source.id == source and one.fmt.id == fmt and policy in one.policies
            ]
            assert len(special) == 1
            assert derive.entry_codes(special[0].entry, get("format", fmt)) == entry
            for rounding in special[0].roundings:
                assert BY_NAME[f"{source}/{fmt}/{rounding.id}/{entry.overflow}"].policies.count(policy) == 1
                seen += 1
    assert seen >= 3 * 6 * 16


def test_the_words_of_casts_are_swept_too() -> None:
    casts = {(step.to, step.overflow) for name in names("recipe") for step in get("recipe", name).facts.steps if step.op == "cast"}
    wanted = {(fmt, word) for fmt, word in casts if fmt in NARROW}
    assert ("e2m1", "wrap") in wanted
    for fmt, word in wanted:
        assert {
            one.roundings[0].id for one in PLANNED if one.name.startswith("fp32/") and one.name.endswith(f"/{word}") and one.fmt.id == fmt
        } >= {
            "rne",
            "rz",
        }


def test_a_full_sweep_has_every_code_once() -> None:
    fp32, bf16 = BY_NAME["fp32/e2m1/rne/saturate"], BY_NAME["bf16/e2m1/rne/saturate"]
    assert inputs.count_inputs(fp32) == 1 << 32
    spans = [inputs.leaf_codes(fp32, leaf) for leaf in range(inputs.count_leaves(fp32))]
    assert (spans[0].start, spans[-1].stop) == (0, 1 << 32)
    assert all(a.stop == b.start for a, b in pairwise(spans))
    parts = [piece.codes for leaf in range(inputs.count_leaves(bf16)) for piece in inputs.pieces(bf16, leaf)]
    assert np.concatenate(parts).tolist() == list(range(1 << 16))
    last = [piece.codes for piece in inputs.pieces(fp32, len(spans) - 1)]
    assert (int(last[0][0]), int(last[-1][-1])) == (spans[-1].start, (1 << 32) - 1)


def test_a_range_keeps_the_leaves_where_they_are() -> None:
    sweep = BY_NAME["fp32/e2m1/rne/saturate"]
    codes = range(inputs.LEAF - 5, 3 * inputs.LEAF + 7)
    spans = [inputs.leaf_codes(sweep, leaf, codes) for leaf in range(inputs.count_leaves(sweep, codes))]
    assert [len(span) for span in spans] == [5, inputs.LEAF, inputs.LEAF, 7]
    assert inputs.count_inputs(sweep, codes) == len(codes)


@pytest.mark.parametrize("source", ["fp32", "bf16", "fp16"])
def test_special_classes_are_all_that_is_no_number_and_the_zeros(source: str) -> None:
    bits, frac = {"fp32": (32, 23), "bf16": (16, 7), "fp16": (16, 10)}[source]
    classes = inputs.special_classes(get("format", source))
    assert [part.size for part in classes] == [1, 1, 1, 1, (1 << frac) - 1, (1 << frac) - 1]
    infinite = ((1 << (bits - 1 - frac)) - 1) << frac
    assert [int(part[0]) for part in classes] == [
        0,
        1 << (bits - 1),
        infinite,
        infinite | 1 << (bits - 1),
        infinite + 1,
        (infinite + 1) | 1 << (bits - 1),
    ]
    assert int(classes[-1][-1]) == (1 << bits) - 1


def test_random_operands() -> None:
    for name in ("sr_add8", "sr_cmp8", "sr_half8", "sr_te_fma8"):
        rounding = get("rounding", name)
        assert [int(inputs.row_operand(rounding, row, 1)[0]) for row in range(inputs.count_rows(rounding))] == list(range(256))
    wide = get("rounding", "sr_add16")
    drawn = {int(inputs.row_operand(wide, row, 1)[0]) for row in range(inputs.count_rows(wide))}
    assert {0, 1, 0xFFFF, 0x8000, 0x7FFF, 0xFF00, 0xFEFF, 0xFFFE} <= drawn
    assert 500 < len(drawn) < 600
    words = [inputs.row_operand(get("rounding", "sr_ptx_split8"), row, 1 << 16) for row in range(2)]
    assert [word.size for word in words] == [1 << 14, 1 << 14]
    assert int(words[0].max()) < 1 << 32
    assert (words[0] != words[1]).any()


def test_the_reference_model_sees_thresholds_exponents_specials_and_strata() -> None:
    sweep = BY_NAME["fp32/e2m1/rne/saturate"]
    listed = set(judge._listed(sweep.source, sweep.fmt).tolist())
    for tie in (0x3E800000, 0x3F400000, 0x40A00000, 0x40C00000, 0x40E00000):
        assert {sign | tie + step for sign in (0, 1 << 31) for step in range(-3, 4)} <= listed
    assert {sign | field << 23 | fraction for sign in (0, 1 << 31) for field in range(256) for fraction in (0, 1)} <= listed
    assert {1, 0x80000000, 0x7FC00000, 0xFF800001, 0xFFFFFFFF} <= listed
    span = range(0x40000000, 0x40000000 + inputs.LEAF)
    strata = judge._strata(sweep.name, 32, span)
    assert np.array_equal(strata >> 17, np.arange(span.start >> 17, span.stop >> 17))
    assert judge.STRATA * sum(one.kind == "finite" and one.source.id == "fp32" for one in PLANNED) >= 10**6
