"""insn: registers of instructions. Two readings of packing and random fields agree, examples of the spec hold, faults in packing show."""

from pathlib import Path
from typing import Any

import pytest

from emu.base.errors import EngineError, FileError, SpecError
from emu.contracts.insn.cases import directed
from emu.contracts.insn.contract import InstructionContract
from emu.contracts.rows import unpack
from emu.spec import get, names
from emu.spec.contract import ContractName, instruction_contracts, is_product, parse, vector_instructions
from emu.spec.instruction import find_form, questions
from emu.vectors import build, load, verify

RS = "insn/cvt_rs_satfinite_e2m1x4_f32"
CHOSEN = (
    "insn/cvt_rn_satfinite_e2m1x2_f32", f"{RS}/share16", f"{RS}/split8", "insn/v_cvt_scalef32_pk8_fp4_f32/divide",
    "insn/v_cvt_scalef32_pk_f32_fp4", "insn/fcvt_h_s_rne", "insn/vcvthf82bf4s_xmm", "insn/cvt_rn_f16x2_e2m1x2",
)  # fmt: skip


def examples() -> list[tuple[str, int]]:
    """Hand-checked executions of the spec, products left out, and answers to what a form does not leave open."""
    return [
        (name, number)
        for name in names("instruction")
        if get("instruction", name).facts.performs != "mma"
        for number, example in enumerate(get("instruction", name).expect)
        if set(example.choose) == set(questions(*find_form(example.form)))
    ]


@pytest.mark.parametrize(("name", "number"), examples(), ids=[f"{name}-{number}" for name, number in examples()])
def test_an_example_of_the_spec_is_what_the_rows_say(name: str, number: int) -> None:
    example = get("instruction", name).expect[number]
    family, form = find_form(example.form)
    answers = tuple(example.choose[key] for key in questions(family, form))
    op = InstructionContract.of(ContractName("insn", (form.id, *answers)))
    given: list[Any] = list(example.operands)
    values = [int(text, 16) for text in (*given, *(text for text in (example.scale, example.random) if text is not None))]
    found = op.exact(tuple(values))
    assert sum(code << (op.slot * lane) for lane, code in enumerate(found[0])) == int(example.result, 16)
    if example.flags is not None:
        assert found[1] == (int(example.flags, 16),)
    if example.scale_result is not None:
        assert found[1] == (int(example.scale_result, 16),)


def test_there_are_examples_and_contracts() -> None:
    contracts = list(vector_instructions())
    assert len(examples()) > 100 and len(contracts) == len(set(contracts)) > 200
    assert all(parse(str(contract)) == contract for contract in contracts[::7])


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Smoke suites of a few instructions."""
    out = tmp_path_factory.mktemp("insn")
    build(out, ["smoke"], CHOSEN)
    return out


@pytest.mark.exhaustive
def test_suites_verify_with_every_engine(built: Path) -> None:
    report = verify(built)
    assert report.exit_code == 0 and report.suites == len(CHOSEN)
    assert min(report.by_engine[engine] for engine in ("exact", "numpy", "c_ref")) > 130


def test_the_row_carries_the_word_and_its_split(built: Path) -> None:
    suite = load(built / "insn", "insn__fp32x4_to_e2m1x4__cvt_rs_satfinite_e2m1x4_f32_split8__smoke")
    layout = suite.layout
    assert [column.name for column in layout.columns] == ["a", "b", "e", "f", "rbits", "d", "r", "m_d", "m_r"]
    assert suite.record["contract"]["sr"] == {"bits": 8, "op": "add", "source": "split8"}
    seen = 0
    for row in suite.rows:
        word, split = row.values[layout.index("rbits")], row.values[layout.index("r")]
        a, b, e, f = unpack(split, layout.columns[layout.index("r")])[::-1]  # a is the highest lane
        assert [a, e, b, f] == [word >> shift & 0xFF for shift in (24, 16, 8, 0)]
        seen += 1
    assert seen == 24


def test_flags_are_a_column_of_instructions_that_have_them(built: Path) -> None:
    suite = load(built / "insn", "insn__fp32x1_to_fp16x1__fcvt_h_s_rne__smoke")
    found = {row.values[suite.layout.index("fl")] for row in suite.rows}
    assert {0x00, 0x01, 0x05, 0x10} <= found and suite.record["contract"]["flags"] == {"tininess": "after"}


def test_lanes_nobody_states_are_masked_and_the_others_compared(built: Path) -> None:
    suite = load(built / "insn", "insn__e2m1x2_to_fp32x2__v_cvt_scalef32_pk_f32_fp4__smoke")
    assert any("nan_scale" in row.flags for row in suite.rows)
    x86 = InstructionContract.of(parse("insn/vcvtps2hf8s_xmm"))
    nan, one = 0x7FC00000, 0x3F800000
    assert x86.exact((nan << 32 | one,))[0] == (0x38, -1, 0, 0)


@pytest.mark.parametrize("contract", ["insn/cvt_rn_satfinite_e2m1x2_f32", f"{RS}/split8", "insn/v_cvt_scalef32_pk8_fp4_f32/divide"])
def test_exchanged_lanes_show_in_rows_that_speak_of_packing(contract: str) -> None:
    """A design that swaps two neighbouring lanes of its result."""
    op = InstructionContract.of(parse(contract))
    cases = directed(op, "any")[::5]
    killed = [case for case in cases if (d := op.exact(case.values)[0]) != (d[1], d[0], *d[2:])]
    assert len(cases) > 80 and len(killed) > len(cases) // 3
    assert all({"lanes", "one_lane", "random_bit"} & set(case.flags) for case in killed)


def test_a_second_reading_that_differs_stops_the_build(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from emu.contracts.insn import registers as insn_registers

    right = insn_registers.places
    monkeypatch.setattr(insn_registers, "places", lambda ranges: right(ranges)[::-1])
    with pytest.raises(EngineError, match="and the reference model differ in d"):
        build(tmp_path / "out", ["smoke"], [f"{RS}/split8"])


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (f"{RS}/share8", r"write insn/cvt_rs_satfinite_e2m1x4_f32/<random: share16, split8, b200_bitrev>"),
        ("insn/fcvt_h_s_rne/share16", "write insn/fcvt_h_s_rne$"),
        ("insn/cvt_rn_satfinite_e2m1x3_f32", "did you mean"),
    ],
)
def test_a_wrong_answer_is_one_line(text: str, words: str) -> None:
    with pytest.raises(SpecError, match=words):
        parse(text)


def test_products_point_to_dot(tmp_path: Path) -> None:
    name = next(str(contract) for contract in instruction_contracts() if is_product(str(contract)))
    with pytest.raises(FileError, match="is a product, its rows are those of `dot`"):
        build(tmp_path / "out", None, [name])
