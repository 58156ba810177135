"""emu compare-datapaths: exit codes, text, JSON, data files, and one line for every misuse."""

import json

import numpy as np
import pytest

from emu.cli.main import run

NVFP4 = "blackwell_mxf4nvf4_b16_ue4m3"
YAML = """\
# yaml-language-server: $schema=../schema/datapath.schema.json
kind: "datapath"
id: "mine"
title: "NVFP4 with 30 fraction bits"
status: "proposed"
based_on: "blackwell_mxf4nvf4_b16_ue4m3"
facts:
  levels: [{id: "k", align: {fraction_bits: 30}}]
open: []
sources: [{ref: "emu", where: "a test"}]
"""


def test_a_difference_is_exit_code_1(capsys):
    assert run(["compare-datapaths", NVFP4, "nv_like_exact", "--rows", "4"]) == 1
    text = capsys.readouterr().out
    assert text.startswith("blackwell_mxf4nvf4_b16_ue4m3 and nv_like_exact/e2m1xe2m1/ue4m3/16 differ in ")
    assert "first stage that differs: step 0 unit" in text and "constructed align" in text


def test_equal_facts_are_exit_code_0(capsys):
    assert run(["compare-datapaths", "nv_like", NVFP4]) == 0
    assert capsys.readouterr().out.endswith("are equal for every input: all facts that decide a bit are the same\n")


def test_json_of_a_users_datapath(tmp_path, capsys):
    (tmp_path / "datapath").mkdir()
    (tmp_path / "datapath" / "mine.yaml").write_text(YAML, encoding="utf-8")
    assert run(["compare-datapaths", "mine", NVFP4, "--spec", str(tmp_path), "--rows", "4", "--json", "--full"]) == 1
    data = json.loads(capsys.readouterr().out)
    assert data["differ"] and data["example"]["first_difference"] and data["first"] == "mine"
    assert {"name", "rows", "differ", "largest_ulps", "worst_error_ulps"} <= set(data["tallies"][0])


def test_real_and_generated_data(tmp_path, capsys):
    path = tmp_path / "w.npy"
    np.save(path, np.linspace(-1, 1, 8 * 128, dtype=np.float32).reshape(8, 128))
    words = ["--data", str(path), "--gaussian", "--outlier", "--rows", "6"]
    assert run(["compare-datapaths", "ideal/e2m1xe2m1/ue4m3/16", "nv_like", *words]) == 1
    got = capsys.readouterr()
    assert "data w " in got.out and "data gaussian" in got.out and "data outlier" in got.out
    assert "data: 6 rows of w against normal rows, K = 128, quantized by nvfp4_te_ref" in got.err


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["hopper_fp8", "cdna3_fp8"], "have no operands in common"),
        (["cdna4", "ideal"], "no published model"),
        (["nope", "ideal"], "'nope' is unknown"),
        ([NVFP4, "ideal", "--data", "missing.npy"], "missing.npy"),
        ([NVFP4, "ideal", "--rows", "1"], "--rows"),
    ],
)
def test_misuse_is_one_line(words, text, capsys):
    assert run(["compare-datapaths", *words]) == 2
    error = capsys.readouterr().err
    assert error.startswith("emu: ") and text in error and error.count("\n") == 1
