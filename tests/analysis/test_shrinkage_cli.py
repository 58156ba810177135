"""emu study bias, tensor, scales: tables, JSON, records, plots of the same bytes, bad input in one line."""

import json
from fractions import Fraction

import numpy as np
import pytest
from safetensors.numpy import save_file

from emu.analysis import drawn_tensors as data
from emu.analysis import records as study
from emu.analysis.bias import bin_bias
from emu.analysis.density import laplace
from emu.analysis.scaled import block_scaled, model
from emu.analysis.tensor import measure
from emu.cli.main import run

SMALL = ["--rows", "16", "--columns", "64"]
PICTURES = {
    "bias": ["study", "bias", "-f", "e2m1", "--density", "flat", "--density", "gaussian"],
    "tensor": ["study", "tensor", "-r", "e2m1_fp32scale", "-r", "ufp4", "--data", "gaussian", *SMALL],
    "scales": [
        "study",
        "scales",
        "--codec",
        "fp32",
        "--codec",
        "e8m0_ceil",
        "--element",
        "e2m1",
        "--element",
        "e1m2",
        "--data",
        "laplace",
        *SMALL,
    ],
}


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def json_of(capsys, *words):
    assert run([*words, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_bias_prints_exact_fractions(capsys):
    assert run(["study", "bias", "-f", "e2m1", "--density", "flat"]) == 0
    out = capsys.readouterr().out
    rows = [line.split() for line in out.splitlines() if line.startswith("e2m1  ")]
    assert ["e2m1", "flat", "4", "12.500", "-1/4", "-1/4", "1/4"] in rows
    assert ["e2m1", "flat", "2", "6.250", "-1/8", "-1/8", "1/16"] in rows


def test_bias_as_json(capsys):
    found = json_of(capsys, "study", "bias", "-f", "e1m2", "-r", "e1m2_fp32scale", "--data", "gaussian", *SMALL)
    assert {row["local"] for row in found["bins"]} == {"0", None}
    own = [row for row in found["bins"] if row["density"] == "numbers of gaussian"]
    assert [row["value"] for row in own] == [str(Fraction(k, 4)) for k in range(-7, 8)]
    assert abs(sum(row["mass"] for row in own) - 1) < 1e-14
    assert own[7]["mass"] == measure(data.gaussian((16, 64)), "e1m2_fp32scale").zero_share
    assert found["command"] == "emu study bias"
    raw, rotated = found["predictions"]
    assert (raw["transform"], rotated["transform"], rotated["model"]) == (None, "rht16_ufp4", None)
    assert raw["measured"] == pytest_same(raw["measured"], raw["empirical"])
    report = measure(data.gaussian((16, 64)), "e1m2_fp32scale")
    assert abs(raw["measured"]["alpha_minus_1"] - report.alpha_minus_1) < 1e-7


def pytest_same(one, other):
    """one, if every figure of other is the same but for the order of a binary64 sum of 1,024 terms."""
    return one if all(abs(one[name] - other[name]) < 1e-9 for name in one) else other


def test_tensor_rows_are_the_librarys(capsys):
    found = json_of(capsys, *PICTURES["tensor"])
    x = data.gaussian((16, 64))
    rows = {(row["recipe"], row["transform"]): row for row in found["rows"]}
    assert set(rows) == {("e2m1_fp32scale", None), ("e2m1_fp32scale", "rht16_ufp4"), ("ufp4", "rht16_ufp4")}
    assert rows["e2m1_fp32scale", None]["sqnr_db"] == measure(x, "e2m1_fp32scale", name="gaussian").sqnr_db
    assert found["tensors"][0]["shape"] == [16, 64]


@pytest.mark.exhaustive
def test_tensors_of_a_file(capsys):
    save_file({"w": data.gaussian((8, 64)), "v": np.ones(64, np.float32), "ids": np.arange(4)}, "m.safetensors")
    assert run(["study", "tensor", "-r", "nvufp4", "--data", "m.safetensors"]) == 0
    seen = capsys.readouterr()
    assert [line.split()[0] for line in seen.out.splitlines()[1:]] == ["w", "w"]
    assert "tensor v: left out" in seen.err
    assert run(["study", "tensor", "-r", "all", "--data", "m.safetensors", "--select", "w"]) == 0


def test_scales_say_who_loses(capsys):
    assert (
        run(["study", "scales", "--codec", "e8m0_floor", "--element", "e2m1", "--element", "e1m2", "--data", "gaussian", "--rows", "64"])
        == 0
    )
    assert "gaussian, as it is: e1m2 LOSES to e2m1 with e8m0_floor scales by 1." in capsys.readouterr().out


@pytest.mark.parametrize("name", PICTURES)
def test_records_and_plots(name, here):
    assert run(["-q", *PICTURES[name], "--out", "r.json", "--plot", "r.svg"]) == 0
    assert json.loads((here / "r.json").read_text())["command"] == f"emu study {name}"
    assert (here / "r.svg").read_text().lstrip().startswith("<?xml")


def test_the_same_bytes_each_time(here):
    for number in "12":
        assert run(["-q", *PICTURES["bias"], "--out", f"{number}.json", "--plot", f"{number}.svg", "--plot", f"{number}.png"]) == 0
    for kind in ("json", "svg", "png"):
        assert (here / f"1.{kind}").read_bytes() == (here / f"2.{kind}").read_bytes()


def test_a_record_keeps_exact_numbers():
    record = study.bias_record(["e2m1"], ["flat"])
    four = next(row for row in record["bins"] if row["value"] == "4")
    assert (Fraction(four["bias"]), Fraction(four["mass"])) == (Fraction(-1, 4), Fraction(1, 8))
    assert json.loads(study.as_text(record)) == record


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["bias", "--density", "cauchy"], "density 'cauchy' is unknown: one of flat, gaussian, laplace"),
        (["bias", "-f", "e9m9"], "format 'e9m9' is unknown"),
        (["bias", "-f", "bf16"], "format bf16 has 16 bits"),
        (["bias", "--data", "cauchy"], "data 'cauchy' is unknown: one of gaussian, laplace, student_t3"),
        (["tensor", "-r", "nvfp5", "--data", "gaussian"], "recipe 'nvfp5' is unknown"),
        (["tensor", "-r", "mxfp4_torchao_floor", "--data", "gaussian", "--columns", "24"], "nothing was measured: mxfp4_torchao_floor"),
        (["tensor", "--data", "nan.npy"], "NaN or Inf in 1 of 64 elements, the first at [1, 3]"),
        (["tensor", "--data", "none.safetensors"], "none.safetensors"),
        (["scales", "--data", "short.npy"], "pad it with zeros"),
        (["scales", "--codec", "e8m0"], "codecs fp32, ue4m3_fp32"),
        (["scales", "--plot", "x.gif"], "plot suffix"),
        (["bias", "--out", "kept.json", "--density", "cauchy"], "kept.json"),  # seen before any work
        (["bias", "-f", "ue4m3"], "format ue4m3 has no negative values"),
    ],
)
def test_bad_input_is_one_line(words, message, here, capsys):
    x = data.gaussian((2, 32))
    x[1, 3] = np.nan
    np.save(here / "nan.npy", x)
    np.save(here / "short.npy", data.gaussian((2, 24)))
    (here / "kept.json").write_text("{}")
    assert run(["-q", "study", *words]) == 2
    seen = capsys.readouterr()
    assert seen.out == ""
    assert message in seen.err
    assert seen.err.count("\n") == 1
    assert (here / "kept.json").read_text() == "{}"


def test_expectations_of_a_record_are_the_models():
    record = study.bias_record(["e2m1", "int4"], ["laplace"], 32)
    assert [row["format"] for row in record["expected"]] == ["e2m1", "int4"]
    for row in record["expected"]:
        found = model(row["format"], laplace(1.0), 32).figures()
        assert {name: row[name] for name in found} == found
    counted = bin_bias("e2m1", block_scaled(laplace(1.0), 32, 6))
    assert [row["mass"] for row in record["bins"][:15]] == [item.mass for item in counted]
