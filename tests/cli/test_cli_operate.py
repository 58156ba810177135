"""emu operate, emu query: the library's answers in text and JSON, every operation reached, one line for every misuse."""

import json

import numpy as np
import pytest

import emu
from emu.cli.main import run
from emu.ops.queries import CODES
from emu.spec.operations import OPERATIONS

F8 = "binary8p3se"


def json_of(capsys, *words):
    assert run([*words, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_a_number_for_people(capsys):
    assert run(["operate", "add", "1.5", "-2^-9", "--formats", F8, "--rounding", "rz"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "add        format       code         value",
        "operand 1  binary8p3se  0x42           1.5",
        "operand 2  binary8p3se  0x9C  -0.001953125",
        "result     binary8p3se  0x41          1.25",
    ]


def test_yes_or_no_for_people(capsys):
    for words, wanted in ((("compare_less", "-1", "inf"), "true"), (("compare_less", "nan", "inf"), "false"), (("is_one", "0x40"), "true")):
        assert run(["operate", *words, "--formats", F8]) == 0
        assert capsys.readouterr().out.splitlines()[-1].split() == ["result", wanted]


def test_formats_for_each_and_options(capsys):
    words = ("operate", "fma", "0x40", "3", "1", "--formats", "binary8p3se, binary4p2sf,fp32", "--to", "fp32", "--policy", "ieee")
    found = json_of(capsys, *words)
    assert [datum["format"] for datum in found["operands"]] == ["binary8p3se", "binary4p2sf", "fp32"]
    assert found["operation"] == "fma" and found["result"] == {"format": "fp32", "code": "0x40800000", "value": "4"}
    assert json_of(capsys, "operate", "add", "49152", "49152", "--formats", F8)["result"]["code"] == "0x7F"
    assert json_of(capsys, "operate", "add", "49152", "49152", "--formats", F8, "--policy", "p3109_sat_finite")["result"]["code"] == "0x7E"


@pytest.mark.parametrize("engine", ["exact", "numpy", "c_ref"])
@pytest.mark.parametrize("name", OPERATIONS)
def test_every_operation_is_the_library_s(capsys, name, engine):
    """Codes of both signs, the largest number and an infinity, in each place."""
    for codes in ((0x42, 0xC8, 0x41, 0x9C), (0x7E, 0x7F, 0xFE, 0x40)):
        given = codes[: OPERATIONS[name].operands]
        found = json_of(capsys, "operate", name, *map(hex, given), "--formats", F8, "--engine", engine)
        assert [int(datum["code"], 16) for datum in found["operands"]] == list(given)
        wanted = emu.operate(name, *(np.array(code) for code in given), formats=F8).item()
        result = found["result"]
        assert result is wanted if OPERATIONS[name].gives == "truth" else (result["format"], int(result["code"], 16)) == (F8, wanted)


def test_queries(capsys):
    assert run(["query", "max_finite_of", "binary8p4se"]) == 0
    assert capsys.readouterr().out == "0x7E = 224\n"
    assert run(["query", "domain_of", "binary4p2sf"]) == 0
    assert capsys.readouterr().out == "finite\n"
    assert json_of(capsys, "query", "exponent_bias_of", F8) == {"query": "exponent_bias_of", "format": F8, "answer": 16}
    least = {"format": "fp32", "code": "0x00800000", "value": "~1.17549435e-38"}
    assert json_of(capsys, "query", "min_normal_of", "fp32")["answer"] == least
    assert set(CODES) == {"max_finite_of", "min_finite_of", "min_positive_of", "max_subnormal_of", "min_normal_of"}


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (("operate", "plus", "1", "1", "--formats", F8), "operation 'plus' is unknown: one of convert, negate, "),
        (("operate", "add", "1", "--formats", F8), "operation add takes 2 operands (2), not 1"),
        (("operate", "add", "1", "1"), "Missing option '--formats'."),
        (("operate", "add", "--formats", F8), "Missing argument 'VALUE...'."),
        (("operate", "add", "1", "1", "--formats", f"{F8},{F8},{F8}"), "operation add has 2 operands and 3 formats: name one for all, "),
        (("operate", "add", "1", "1", "--formats", f"{F8},"), "format '' is unknown"),
        (("operate", "add", "1", "x", "--formats", F8), "'x' is no number: "),
        (("operate", "add", "1", "0x100", "--formats", F8), "0x100 has more than 8 bits: it is no binary8p3se code"),
        (("operate", "add", "1", "-1", "--formats", "binary8p3ue"), "binary8p3ue has no negative numbers: name another format"),
        (("operate", "add", "inf", "1", "--formats", "binary8p3sf"), "binary8p3sf has no Inf: name another format"),
        (("operate", "add", "1", "1", "--formats", "e8m0"), "operation add takes float formats: e8m0 is none"),
        (("operate", "add", "1", "1", "--formats", f"{F8},fp32"), "operation add: the operands have several formats: say `to`"),
        (("operate", "add", "1", "1", "--formats", "fp32"), "policy p3109_sat_none says nothing of fp32: "),
        (("operate", "is_zero", "1", "--formats", F8, "--to", F8), "operation is_zero gives no number to project: leave `to` out"),
        (("operate", "recip", "3", "--formats", F8, "--rounding", "sr_add8"), "operation recip takes no rounding that draws: sr_add8 does"),
        (("operate", "recip", "3", "--formats", F8, "--engine", "steam"), "engine 'steam' is unknown: "),
        (("operate", "recip", "3", "--formats", F8, "--engine", "native"), "engine native cannot operate this: use "),
        (("query", "width_of", "fp32"), "query 'width_of' is unknown: one of bitwidth_of, "),
        (("query", "bitwidth_of", "e8m0"), "query bitwidth_of takes float formats: e8m0 is none"),
        (("query", "bitwidth_of", "e9m9"), "format 'e9m9' is unknown"),
        (("query", "bitwidth_of"), "Missing argument 'FORMAT'."),
    ],
)  # fmt: skip
def test_misuse_is_one_line_and_two(capsys, words, line):
    assert run([*words]) == 2
    out, err = capsys.readouterr()
    assert out == "" and err.startswith(f"emu: {line}") and err.count("\n") == 1
