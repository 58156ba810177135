"""emu convert: words of the command line to codes, and whole .npy files."""

import json

import numpy as np
import pytest

import emu
from emu.base.errors import OperandError
from emu.cli.convert import parse_value
from emu.cli.main import run
from emu.spec import get


def json_of(capsys, *words):
    assert run([*words, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_values_and_codes(capsys):
    rows = json_of(capsys, "convert", "e2m1", "1.3", "-2", "5", "-inf", "nan", "0x40A00000", "-0.25", "2^-9")
    assert [row["code"] for row in rows] == ["0x3", "0xC", "0x6", "0xF", "0x7", "0x6", "0x8", "0x0"]
    assert rows[0] == {"source": "0x3FA66666", "value": "~1.29999995", "code": "0x3", "decoded": "1.5"}


def test_table_for_people(capsys):
    assert run(["convert", "e2m1", "5", "7"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines == ["fp32        value  e2m1  decoded", "0x40A00000      5  0x6         4", "0x40E00000      7  0x7         6"]


def test_options_reach_the_library(capsys):
    assert json_of(capsys, "convert", "e2m1", "5", "--rounding", "rz")[0]["code"] == "0x6"
    assert json_of(capsys, "convert", "e2m1", "5.5", "--rounding", "rz")[0]["code"] == "0x6"
    assert json_of(capsys, "convert", "fp32", "0x7", "--source", "e2m1")[0]["code"] == "0x40C00000"
    rows = json_of(capsys, "convert", "e2m1", "129/512", "129/512", "--rounding", "sr_add8", "--random", "126,0x7F")
    assert [row["code"] for row in rows] == ["0x0", "0x1"]


@pytest.mark.parametrize(
    ("text", "source", "code"),
    [
        ("1.3", "fp32", 0x3FA66666),
        ("-7/4", "fp32", 0xBFE00000),
        ("2^-149", "fp32", 1),
        ("1e-46", "fp32", 0),
        ("-1e-46", "fp32", 0x80000000),
        ("-0", "fp32", 0x80000000),
        ("1e39", "fp32", 0x7F800000),
        ("-inf", "bf16", 0xFF80),
        ("nan", "fp16", 0x7E00),
        ("-nan", "fp16", 0xFE00),
        ("-NaN", "fp32", 0xFFC00000),
        ("-nan", "e4m3", 0xFF),
        ("-nan", "e5m2", 0xFE),
        ("-nan", "e4m3fnuz", 0x80),
        ("-nan", "e8m0", 0xFF),
        ("-nan", "ue4m3", 0x7F),
        ("1e9", "e2m1", 7),
        ("0x9", "e2m1", 9),
        ("0.1", "fp64", 0x3FB999999999999A),
        ("inf", "binary8p3se", 0x7F),
        ("-inf", "binary8p3se", 0xFF),
        ("49152", "binary8p3se", 0x7E),
        ("1e9", "binary8p3se", 0x7F),
        ("1e9", "binary8p3sf", 0x7F),
        ("-0", "binary8p3ue", 0),
    ],
)
def test_words_become_source_codes(text, source, code):
    assert parse_value(text, get("format", source)) == code


@pytest.mark.parametrize(
    ("text", "source"),
    [
        *((text, "fp32") for text in ("abc", "", "1/0", "2^x", "2^9999999", "1e99999999", "0x100000000", "--1")),
        *((text, "e2m1") for text in ("nan", "inf", "0x10")),
        *((text, "binary8p3ue") for text in ("-inf", "-1", "-1e-30")),
        ("inf", "binary8p3sf"),
    ],
)
def test_other_words_are_refused(text, source):
    with pytest.raises(OperandError):
        parse_value(text, get("format", source))


def test_file_of_values(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    x = np.random.default_rng(3).standard_normal((5, 7)).astype(np.float32)
    np.save("x.npy", x)
    assert run(["convert", "e2m1", "x.npy", "--out", "codes.npy"]) == 0
    codes = np.load("codes.npy")
    assert codes.dtype == np.uint8
    assert np.array_equal(codes, emu.convert(x, "e2m1"))
    assert "35 codes of e2m1" in capsys.readouterr().err
    assert run(["convert", "fp32", "codes.npy", "--source", "e2m1", "--out", "back.npy", "--json"]) == 0
    assert np.load("back.npy").dtype == np.uint32
    assert json.loads(capsys.readouterr().out)["shape"] == [5, 7]
    assert run(["convert", "e2m1", "x.npy"]) == 2
    assert run(["convert", "e2m1", "x.npy", "--out", "codes.npy"]) == 2
    assert run(["convert", "e2m1", "x.npy", "--out", "codes.npy", "--force"]) == 0
    np.save("i.npy", np.arange(3))
    assert run(["convert", "e2m1", "i.npy", "--out", "other.npy"]) == 2
    assert sorted(path.name for path in tmp_path.iterdir()) == ["back.npy", "codes.npy", "i.npy", "x.npy"]
