"""A row of the record of foreign kernels beside the contracts: what of it is read, and which contracts give the library's answer."""

from pathlib import Path

import numpy as np
import pytest

from emu.spec.contract import parse
from tools.docs.foreign_kernels import told
from tools.foreign_kernels import KIND, RECORD
from tools.site.beside import alike, answer, others, row_of, unrolled

ROOT = Path(__file__).resolve().parents[2]
BLOCK, NUMBER = parse("quantize/mxfp4_torchao_even"), parse("convert/e2m1/rne/nvidia")


def test_runs_are_unrolled() -> None:
    assert unrolled("A x2 B C x3") == ["A", "A", "B", "C", "C", "C"]


def test_of_several_rows_the_one_of_the_place_is_read() -> None:
    text = {"x": "00000000 x32 / 3F800000 x31 40000000 / 00000000 x20 ..."}
    found = row_of(BLOCK, "fp32", text, "codes[1, 31]")
    assert found is not None and (found.answer, found.where) == ("codes", (0, 31))
    assert found.operands["x"].dtype == np.uint32 and found.operands["x"].tolist() == [[0x3F800000] * 31 + [0x40000000]]
    assert row_of(BLOCK, "fp32", text, "codes[2, 0]") is None  # the record has it in part
    assert row_of(BLOCK, "fp32", text, "codes[23, 22]") is None  # nor is this one of the rows that it has
    cut = row_of(BLOCK, "fp32", {"x": "3F800000 x32"}, "codes[55, 8]")  # the row was cut out of a larger question
    assert cut is not None and cut.where == (0, 8)


def test_a_tensor_maximum_is_one_code_and_codes_are_as_wide_as_their_source() -> None:
    found = row_of(parse("quantize/nvfp4_te_ref"), "fp32", {"x": "3F800000 x16", "tensor_amax": "3F800000"}, "scale[0, 0]")
    assert found is not None and found.operands["tensor_amax"].shape == ()
    half = row_of(NUMBER, "bf16", {"codes": "40A0"}, "codes[0]")
    assert half is not None and half.operands["codes"].dtype == np.uint16 and answer(NUMBER, "bf16", half) == 6


@pytest.mark.parametrize(
    ("code", "want", "got", "there", "absent"),
    [
        ("40A00000", "0x6 (4)", "0x7 (6)", "convert/e2m1/rna/nvidia", "convert/e2m1/rz/nvidia"),  # the tie of 4 and 6
        ("7FC00000", "0x7 (6)", "0x8 (-0)", "convert/e2m1/rne/ml_dtypes", "convert/e2m1/rne/gfloat_sat"),  # NaN, which gfloat refuses
        (
            "7FC00000",
            "0x7 (6)",
            "0x7 (6)",
            "convert/e2m1/rna/nvidia",
            "convert/e2m1/rne/nvidia",
        ),  # the contract itself is none of the others
    ],
)
def test_other_roundings_and_policies_are_named(code: str, want: str, got: str, there: str, absent: str) -> None:
    found = alike(NUMBER, "fp32", (("codes", code),), "codes[0]", want, got)
    assert there in found and absent not in found


def test_nothing_is_named_where_the_contract_gives_something_else_than_the_record_says() -> None:
    assert alike(NUMBER, "fp32", (("codes", "40A00000"),), "codes[0]", "0x5 (3)", "0x7 (6)") == ()


def test_others_take_the_same_operands() -> None:
    found = [str(name) for name in others(BLOCK)]
    assert "quantize/mxfp4_ggml" in found and str(BLOCK) not in found and not any("nvfp4" in name for name in found)
    assert "dequantize/mxfp4_ggml/ggml" in [str(name) for name in others(parse("dequantize/mxfp4_te_pow2/exact"))]
    assert list(others(parse("decode/e2m1"))) == []


def test_every_whole_row_of_the_record_gives_what_the_record_says() -> None:
    told_of, wrong = 0, []
    for row in told(KIND.read(ROOT / RECORD)):
        contract = parse(row["contract"])
        for item in row["failures"]:
            found = row_of(contract, row["source"], item["operands"], item["place"])
            if found is None or (contract.op == "quantize" and found.answer == "values"):  # values follow a profile, which is the kernel's
                continue
            told_of += 1
            if answer(contract, row["source"], found) != int(item["want"].partition(" ")[0], 16):
                wrong.append((row["kernel"], item["class"]))
    assert wrong == [] and told_of > 150
