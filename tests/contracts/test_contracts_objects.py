"""Every operation answers through its contract object: names, rows, traces and deviations, by the exact engine."""

import json
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from inspect import Parameter, Signature

import pytest

from emu import contracts
from emu.base.errors import EmuError, SpecError
from emu.check.run import check
from emu.check.targets.python import python_target
from emu.contracts import OPERATIONS, parse
from emu.contracts.rows import make_row, mismatches
from emu.spec import get, names
from emu.spec.contract import GRAMMARS
from emu.spec.instruction import all_forms

TEXTS = {
    "decode": ["decode/e2m1", "decode/ue4m3", "decode/nf4"],
    "convert": ["convert/e2m1/rne/nvidia", "convert/e2m1/sr_add8/nvidia"],
    "quantize": ["quantize/nvfp4_te_ref", "quantize/mxfp4_torchao_floor"],
    "dequantize": ["dequantize/nvfp4_te_ref", "dequantize/mxfp4_torchao_floor"],
    "transform": ["transform/rht16_te", "transform/rht16_butterfly", "transform/rht16_exact"],
    "dot": ["dot/blackwell_mxf4_b32_ue8m0", "dot/int64/e1m2xe1m2/16"],
    "accumulate": ["accumulate/promote/e1m2xe1m2/16", "accumulate/int64/e1m2xe1m2/16"],
    "layout": ["layout/nvfp4/sf128x4"],
    "insn": ["insn/cvt_rn_satfinite_e2m1x2_f32", "insn/v_cvt_scalef32_pk_fp4_f32", "insn/cvt_rht16_rn_satfinite_ue4m3_e1m2x16_bf16"],
    "operate": [
        "operate/add/binary8p3se/binary8p3se/rne/p3109_sat_none",
        "operate/faa/e4m3xe5m2xfp32/fp32/rz/ieee",
        "operate/is_zero/e4m3",
    ],
}


TEXTS["dequantize"] = [f"{text}/{next(iter(get('recipe', text.split('/')[1]).facts.dequantize))}" for text in TEXTS["dequantize"]]


def chosen() -> Iterator[str]:
    for texts in TEXTS.values():
        yield from texts


@cache
def directed(text):
    return parse(text).directed()


def cases(op: contracts.Contract, most: int):
    found = directed(str(op.name))
    return [found[place * len(found) // most] for place in range(most)] if len(found) > most else found


def test_every_operation_has_a_grammar_and_an_object():
    assert set(OPERATIONS) == set(GRAMMARS) == set(TEXTS)


@pytest.mark.parametrize("text", list(chosen()))
def test_the_string_is_parsed_and_written_again(text):
    assert str(parse(text).name) == text


@pytest.mark.cases(6)
@pytest.mark.parametrize("text", list(chosen()))
def test_every_operation_has_a_trace(text):
    """Of each lane, that ends in the code of the answer; nothing raises, also on NaN and open rows."""
    op = parse(text)
    for case in cases(op, 8):
        answer = op.exact(case.values)
        for lane in {0, len(answer[0]) - 1}:
            lines = op.lines(op.trace(case.values, lane))
            code = answer[0][lane]
            assert len(lines) > 1 or code < 0, case
            wanted = "open" if code < 0 else str(code) if op.name.op == "layout" else f"{code:x}"
            if not (op.name.op in ("quantize", "accumulate") and code < 0):
                assert any(wanted in line for line in lines), (case, lines)


@pytest.mark.cases(12)
@pytest.mark.parametrize("text", list(chosen()))
def test_a_trace_is_plain_data_and_differs_where_the_answer_does(text):
    op = parse(text)
    found = {json.dumps(op.trace(case.values)): op.exact(case.values) for case in cases(op, 6)}
    assert len(found) > 1


@pytest.mark.cases(10)
@pytest.mark.parametrize("text", list(chosen()))
def test_a_deviation_changes_some_row(text):
    """Each operation lists some, all with words and a stage, no two alike; most of them can be seen on the directed rows."""
    op = parse(text)
    listed = list(op.deviations())
    if op.name.op == "accumulate" and op.plan.accumulator is not None:
        assert listed == []
        return
    if op.name.op == "insn" and op.facts.performs == "quantize":
        assert [item.text for item in listed] == ["the lanes of d are in reverse order"]
    assert len(listed) > 0 and len({item.text for item in listed}) == len(listed)
    assert all(item.text and item.stage for item in listed)
    rows = [(case, make_row(op.layout, case, op.exact(case.values))) for case in cases(op, 8)]
    seen = 0
    for item in listed[:: max(1, len(listed) // 4)]:
        for case, row in rows:
            with suppress(EmuError):
                answer = item.answer(case.values)
                seen += answer is not None and bool(mismatches(op.layout, row, answer))
    assert seen > 0


def test_examples_of_every_kind_have_an_operation():
    kinds = {kind for operation in OPERATIONS.values() for kind in operation.examples}
    assert kinds == {"format", "rounding", "policy", "block", "recipe", "transform", "datapath", "instruction", "layout"}
    for kind in kinds:
        things = [get(kind, name) for name in names(kind)]
        thing = next(item for item in things if item.expect)
        assert contracts.replay(thing, thing.expect[0]) is None


def test_a_wrong_example_says_what_came():
    fmt = get("format", "e2m1")
    wrong = fmt.expect[0].model_copy(update={"value": "77"})
    assert contracts.replay(fmt, wrong).endswith(", not 77")


@pytest.mark.parametrize(
    ("text", "words"),
    [("layout/nvfp4/sf128x4", "plain integers"), ("insn/vcvthf82bf4s_xmm", None), ("accumulate/promote/e1m2xe1m2/16", None)],
)
def test_forms_of_operations_without_kernels_of_their_own(text, words):
    """Operands and answers are the columns of a row; plain integers are refused in one line."""
    if words:
        with pytest.raises(SpecError, match=words):
            contracts.form_of(text)
        return
    form = contracts.form_of(text)
    assert list(form.operands) == [column.name for column in form.operation.layout.inputs]


def test_questions_left_open_are_named():
    with pytest.raises(SpecError, match="open"):
        parse("insn/cvt_rs_satfinite_e2m1x4_f32")


@pytest.mark.parametrize("text", ["accumulate/promote/e1m2xe1m2/16", "accumulate/int64/e1m2xe1m2/16", "insn/cvt_rn_satfinite_e2m1x2_f32"])
def test_kernels_of_chains_and_instructions_are_judged(text):
    """A kernel takes the columns of a row by their names; one with a wrong bit differs, and its row is explained."""
    form = contracts.form_of(text)
    name = next(iter(form.answers))

    def right(**columns):
        return {name: form.expect(columns, "auto", form.answers[name]).arrays[name]}

    first = next(iter(form.operands))

    def kernel(flip):
        def fn(main, **columns):
            answer = right(**{first: main, **columns})
            return answer[name] ^ answer[name].dtype.type(flip)

        fn.__signature__ = Signature([Parameter(column, Parameter.POSITIONAL_OR_KEYWORD) for column in form.operands])
        return python_target(fn, text, takes="numpy.bits", source="fp32")

    assert check(kernel(0), text, suites=["directed"]).verdict == "pass"
    report = check(kernel(1), text, suites=["directed"])
    assert report.verdict == "differs" and report.failures[0].example.steps


FUSED = [f"insn/{form.id}" for family, form in all_forms() if family.facts.performs == "quantize"]


@pytest.mark.parametrize("text", FUSED)
def test_a_trace_of_a_fused_quantizer_rotates_first_and_ends_in_the_code(text):
    """With the signs of the instruction: the step `codes` of each lane is what the instruction gives."""
    op, compared = parse(text), 0
    for case in cases(op, 40)[::7]:
        answer = op.exact(case.values)[0]
        for lane in range(0, op.lanes, 5):
            told = next(entry["value"] for entry in op.trace(case.values, lane) if entry["out"] == "codes")
            assert told.startswith("open" if answer[lane] < 0 else f"0x{answer[lane]:x}"), (case, lane)
            compared += answer[lane] >= 0
    assert compared > 10
