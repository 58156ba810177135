"""emu analyze: figures equal the library's, per tensor and in total, with and without rotation; plots; bad input."""

import json

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from emu.analysis.analyze import tensor_report
from emu.analysis.report import total
from emu.cli.analyze import RECIPES
from emu.cli.main import run


def sample(shape, seed=1):
    random = np.random.default_rng(seed)
    return (random.standard_normal(shape) * np.exp(random.standard_normal(shape))).astype(np.float32)


TENSORS = {"a": sample((32, 64)), "b": sample((16, 128), 2), "ids": np.arange(4), "v": sample(128, 3)}


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    save_file(TENSORS, "m.safetensors")
    return tmp_path


def json_of(capsys, *words):
    assert run(["analyze", "m.safetensors", "--json", *words]) == 0
    return json.loads(capsys.readouterr().out)


def test_figures_are_those_of_the_library(capsys):
    found = json_of(capsys, "-r", "nvfp4_te_ref", "-r", "hif4")
    rows = {(row["tensor"], row["recipe"], row["transform"]): row for row in found["reports"]}
    for name in ("a", "b", "v"):
        for recipe in ("nvfp4_te_ref", "hif4"):
            for transform in (None, "rht16_ufp4"):
                signs = None if transform is None else 0xD7E8
                wanted = tensor_report(TENSORS[name], recipe, transform, signs=signs).figures()
                row = rows[name, recipe, transform]
                assert {key: row[key] for key in wanted} == wanted
                assert row["shape"] == list(TENSORS[name].shape)
    assert len(rows) == 12
    assert {(item["tensor"], item["reason"]) for item in found["skipped"]} == {("ids", "dtype int64: not fp32, fp16 or bf16")}


def test_total_is_the_sum(capsys):
    found = json_of(capsys, "-r", "nvfp4_te_ref", "--no-rht")
    wanted = total([tensor_report(TENSORS[name], "nvfp4_te_ref") for name in ("a", "b", "v")]).figures()
    (row,) = found["total"]
    assert row == {"tensors": 3, **wanted}


def test_default_recipes_and_rotation(capsys):
    found = json_of(capsys, "--totals")
    assert found["reports"] == []
    assert [(row["recipe"], row["transform"]) for row in found["total"]] == [(r, t) for r in RECIPES for t in (None, "rht16_ufp4")]


def test_options_of_the_rotation(capsys):
    rows = json_of(capsys, "-r", "e1m2_fp32scale", "--select", "a", "--signs", "0x1234")["reports"]
    assert rows[1]["sqnr_db"] == tensor_report(TENSORS["a"], "e1m2_fp32scale", "rht16_ufp4", signs=0x1234).sqnr_db
    rows = json_of(capsys, "-r", "e1m2_fp32scale", "--select", "a", "--transform", "rht16_te")["reports"]
    assert [row["transform"] for row in rows] == [None, "rht16_te"]


def test_a_recipe_that_rotates_has_one_row(capsys):
    rows = json_of(capsys, "-r", "ufp4", "--select", "a")["reports"]
    assert [row["transform"] for row in rows] == ["rht16_ufp4"]
    assert rows[0]["sqnr_db"] == tensor_report(TENSORS["a"], "ufp4", signs=0xD7E8).sqnr_db


def test_a_recipe_that_draws_needs_a_key(capsys):
    assert run(["analyze", "m.safetensors", "-r", "ufp4_sr"]) == 2
    assert "give --random-key" in capsys.readouterr().err
    first, second = (json_of(capsys, "-r", "ufp4_sr", "-r", "hif4", "--random-key", "4")["total"] for _ in range(2))
    assert first == second
    assert [row["recipe"] for row in first] == ["ufp4_sr", "hif4", "hif4"]


def test_table_for_people(capsys):
    assert run(["analyze", "m.safetensors", "-r", "nvfp4_te_ref", "--select", "[ab]"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert " ".join(lines[0].split()) == "tensor recipe rotation SQNR dB alpha-1 % coherent incoherent B_eff clipped % zero %"
    assert [line.split()[0] for line in lines[1:]] == ["a", "a", "b", "b", "total", "total"]
    report = tensor_report(TENSORS["a"], "nvfp4_te_ref")
    figures = [f"{report.sqnr_db:.2f}", f"{100 * report.alpha_minus_1:+.3f}", f"{report.coherent:.2e}"]
    assert lines[1].split()[1:6] == ["nvfp4_te_ref", "none", *figures]


def test_nan_stays_out_of_the_total(capsys):
    bad = sample((4, 64))
    bad[0, 0] = np.nan
    save_file({"a": TENSORS["a"], "bad": bad}, "n.safetensors")
    assert run(["analyze", "n.safetensors", "-r", "nvfp4_te_ref", "-r", "hif4", "--no-rht"]) == 0
    found = capsys.readouterr()
    assert "1 reports hold NaN or Inf" in found.err
    assert "skipped bad, hif4: quantize/hif4: this input has results that the sources leave open" in found.err
    assert found.out.count("total of 1") == 2


@pytest.mark.parametrize("suffix", ["png", "svg"])
def test_plot(here, suffix, capsys):
    words = ["analyze", "m.safetensors", "-r", "nvfp4_te_ref", "--plot", f"p.{suffix}", "-q", "--totals"]
    assert run(words) == 0
    assert len((here / f"p.{suffix}").read_bytes()) > 5000
    assert run(words) == 2
    assert "exists already" in capsys.readouterr().err
    assert run([*words, "--force"]) == 0


def test_lengths_the_rotation_does_not_divide_are_skipped(capsys):
    save_file({"w": sample((4, 24))}, "odd.safetensors")
    assert run(["analyze", "odd.safetensors", "-r", "nvfp4_te_ref", "-r", "nvfp4_f46_mse"]) == 0
    found = capsys.readouterr()
    assert found.out.count("none") == 4
    assert "skipped w, nvfp4_te_ref nvfp4_f46_mse: transform rht16_ufp4 rotates 16 elements" in found.err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["m.safetensors", "--select", "ids"], "nothing to analyze: ids: nvfp4_te_ref does not take it: dtype int64"),
        (["m.safetensors", "--plot", "p.bmp"], "plot suffix"),
        (["m.safetensors", "--plot", "none/p.png"], "no such folder"),
        (["m.safetensors", "-r", "zzz"], "recipe 'zzz' is unknown"),
        (["m.safetensors", "--transform", "rht17"], "did you mean"),
        (["m.safetensors", "--signs", "0x10000"], "more than 16 bits"),
        (["m.safetensors", "--engine", "steam"], "engine 'steam' is unknown"),
        (["."], "m.safetensors"),
    ],
)
def test_misuse_is_one_line(here, capsys, words, message):
    if words == ["."]:
        (here / "m.safetensors").write_bytes((here / "m.safetensors").read_bytes()[:50])
    assert run(["analyze", *words]) == 2
    err = capsys.readouterr().err
    assert message in err
    assert err.count("\n") == 1
    assert [path.name for path in here.iterdir()] == ["m.safetensors"]


def test_real_weights(model_file, capsys):
    chosen = ["--select", "encoder.layer.0.attention.self.query.weight", "--json", "-r", "e2m1_fp32scale", "-r", "e1m2_fp32scale"]
    assert run(["analyze", str(model_file.parent), *chosen]) == 0
    rows = {(row["recipe"], row["transform"]): row for row in json.loads(capsys.readouterr().out)["reports"]}
    weights = load_file(model_file)["encoder.layer.0.attention.self.query.weight"]
    for (recipe, transform), row in rows.items():
        wanted = tensor_report(weights, recipe, transform, signs=None if transform is None else 0xD7E8)
        assert row["sqnr_db"] == wanted.sqnr_db
    assert rows["e1m2_fp32scale", "rht16_ufp4"]["sqnr_db"] > rows["e2m1_fp32scale", "rht16_ufp4"]["sqnr_db"]
