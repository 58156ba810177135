"""Every form of every instruction: found by its names, executed lane by lane as emu.convert does, or refused with its reason."""

from typing import Any

import numpy as np
import pytest

import emu
from emu.ops.instruction import Executable, instruction
from emu.spec import get, names
from emu.spec.contract import instruction_contracts, parse
from emu.spec.instruction import CHOICES, all_forms, find_form, is_open
from emu.spec.models.instruction import IeeeFlags, InstructionVariant, forms

FORMS = list(all_forms())
CALLS = 24
UNKNOWN = {
    "amd_mfma_scale",
    "ptx_mma_sparse",
    "ptx_tcgen05_k96",
    "ptx_tcgen05_sm107_fp4",
    "ptx_tcgen05_sm107_mxf8f6f4",
    "x86_cvtbias_ps_fp8",
}


def answers(form: InstructionVariant, family: Any, number: int = 0) -> dict[str, str]:
    """An answer to each open fact of a form; the last one where there are fewer."""
    options = {point.fact: point.options for point in family.open if point.fact}
    return {key: options[key][min(number, len(options[key]) - 1)] for key in CHOICES if is_open(form.facts, key) and options.get(key)}


def runnable() -> list[tuple[Any, InstructionVariant]]:
    return [(family, form) for family, form in FORMS if family.id not in UNKNOWN]


CONVERSIONS = [pair for pair in runnable() if pair[1].facts.performs in ("convert", "widen")]
PRODUCTS = [pair for pair in runnable() if pair[1].facts.performs == "mma"]


def ids(pairs: list[tuple[Any, InstructionVariant]]) -> list[str]:
    return [form.id for _, form in pairs]


def check_lanes(call: Executable, reading: Any, seed: int) -> None:
    facts = call.facts
    inputs = reading.register_inputs(facts, CALLS, seed)
    draw = np.random.Generator(np.random.Philox(seed + 1))
    words = [int(word) for word in draw.integers(0, 1 << 32, CALLS)] if facts.random else [0] * CALLS
    scales = [int(raw) for raw in draw.integers(0, 1 << min(facts.scale.bits, 30), CALLS)] if facts.scale else [0] * CALLS
    if facts.scale is not None and facts.scale.reads == "fp32_exponent":
        scales = [(121 + raw % 13) << 23 | raw % 1000 for raw in scales]
    given = []
    for place, register in enumerate(facts.operands or ()):
        bits = register.lanes * (register.slot or reading.width(facts.source))
        given.append(reading.as_register([one[place] for one in inputs], bits))
    given += [np.array(words, np.uint64)] if facts.random else []
    given += [np.array(scales, np.uint64)] if facts.scale else []
    found = call(*given)
    result = found[0] if isinstance(facts.flags, IeeeFlags) else found
    assert facts.result is not None
    numbers = reading.as_numbers(result, facts.result.lanes * (facts.result.slot or reading.width(facts.to)))
    wanted = [reading.execute(facts, one, word, scale) for one, word, scale in zip(inputs, words, scales, strict=True)]
    assert numbers == wanted


@pytest.mark.cases(51)
@pytest.mark.parametrize(("family", "form"), CONVERSIONS, ids=ids(CONVERSIONS))
def test_a_conversion_equals_its_lanes(family: Any, form: InstructionVariant, reading: Any) -> None:
    check_lanes(instruction(form.mnemonic, **answers(form, family)), reading, sum(form.id.encode()))


CHOSEN = [
    (family, form, key, option)
    for family, form in CONVERSIONS
    for point in family.open
    for key, option in ((point.fact, option) for option in point.options if point.fact)
    if form.words in (forms(family)[0].words, forms(family)[-1].words)
]


@pytest.mark.parametrize(("family", "form", "key", "option"), CHOSEN, ids=[f"{form.id}-{key}-{option}" for _, form, key, option in CHOSEN])
def test_every_answer_to_an_open_question_runs(family: Any, form: InstructionVariant, key: str, option: str, reading: Any) -> None:
    call = instruction(form.mnemonic, **(answers(form, family) | {key: option}))
    check_lanes(call, reading, 5)


@pytest.mark.cases(136)
@pytest.mark.parametrize(("family", "form"), PRODUCTS, ids=ids(PRODUCTS))
def test_a_product_equals_emu_dot(family: Any, form: InstructionVariant) -> None:
    facts = form.facts
    options = [point.options for point in family.open if point.fact == "datapath"]
    datapath = str(facts.datapath if facts.datapath != "open" else options[0][0])
    call = instruction(form.mnemonic, **({"datapath": datapath} if options else {}))
    draw = np.random.Generator(np.random.Philox(sum(form.id.encode())))
    a, b = (draw.integers(0, 8, (rows, facts.k), np.uint64) for rows in (3, 2))
    c = draw.integers(0, 1 << 10, (3, 2), np.uint64)
    given: dict[str, Any] = {}
    if "a_scales" in call.operands:
        assert facts.k is not None
        block = facts.block or get("datapath", datapath).facts.scale.blocks[0]
        given = {name: draw.integers(40, 60, (rows, facts.k // block), np.uint64) for name, rows in (("a_scales", 3), ("b_scales", 2))}
    found = call(a=a, b=b, c=c, **given)
    assert found.shape == (3, 2)
    for i, j in np.ndindex(3, 2):
        rows = {"a_scales": given["a_scales"][i], "b_scales": given["b_scales"][j]} if given else {}
        one = emu.dot(
            a[i], b[j], datapath, c=c[i, j], a_format=facts.a, b_format=facts.b, scale_format=facts.scale_format, engine="exact", **rows
        )
        assert int(found[i, j]) == int(one)


def test_what_nobody_knows_is_refused_with_its_reason() -> None:
    for family, form in FORMS:
        if family.id in UNKNOWN:
            call = instruction(form.mnemonic)
            with pytest.raises(emu.OpenError, match=r"open \(|no published model") as error:
                call(0)
            assert "\n" not in str(error.value)
    assert {family.id for family, form in FORMS if form.status == "unknown"} == UNKNOWN


def test_an_open_fact_asks_for_a_choice() -> None:
    asked = 0
    for _, form in runnable():
        for key in CHOICES:
            if is_open(form.facts, key):
                with pytest.raises(emu.OpenError, match=f"{key} is open .*: choose {key}="):
                    instruction(form.mnemonic)(*[0] * 6)
                asked += 1
                break
    assert asked > 50


def test_ids_mnemonics_and_cases_find_a_form() -> None:
    for family, form in FORMS:
        assert find_form(form.mnemonic) == find_form(form.id) == find_form(form.mnemonic.upper()) == (family, form)
    assert len({form.id for _, form in FORMS}) == len(FORMS) > 450
    assert emu.instruction("ptx_cvt_rs_f4x4").mnemonic == "cvt.rs.satfinite.e2m1x4.f32"
    assert len(emu.spec.names("instruction")) == len(names("instruction")) > 45


def test_every_form_has_a_contract() -> None:
    found = [str(contract) for contract in instruction_contracts()]
    assert found == [f"insn/{form.id}" for _, form in FORMS]
    one = parse("insn/cvt.rn.satfinite.e2m1x2.f32")
    assert str(one) == "insn/cvt_rn_satfinite_e2m1x2_f32" and one.spec == ("instruction/ptx_cvt_f4x2",)
    assert one.spec_sha256 != parse("insn/cvt_rn_satfinite_e2m1x2_f16x2").spec_sha256


def test_widening_rounds_nothing() -> None:
    """Every code of a narrow format, through fp64: the same value or NaN."""
    seen = 0
    for _, form in FORMS:
        facts = form.facts
        if facts.performs == "widen":
            assert facts.source and facts.to
            codes = np.arange(1 << emu.spec.derive.codes(get("format", facts.source)).bits, dtype=np.uint16)
            wide = emu.convert(codes, facts.to, policy=facts.policy or "nvidia", source=facts.source)
            back = emu.convert(wide, "fp64", policy="ieee", source=facts.to)
            assert np.array_equal(back, emu.convert(codes, "fp64", policy="ieee", source=facts.source))
            seen += 1
    assert seen >= 15
