"""emu bench: it measures and prints; no number is judged here."""

import json

import numpy as np

from emu.cli.main import run


def test_bench_prints_a_table(capsys):
    assert run(["bench", "--elements", "4096", "--repeats", "1", "--only", "decode"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "| job | million elements a second |"
    assert lines[2].startswith("| decode e2m1 |")


def test_bench_as_json(capsys):
    assert run(["bench", "--elements", "4096", "--repeats", "1", "--only", "decode", "--json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)["rows"]
    assert row["name"] == "decode e2m1" and row["elements"] == 4096
    assert row["rate"] > 0


def test_every_operation_is_measured_by_every_engine(capsys):
    assert run(["bench", "--elements", "4096", "--repeats", "1", "--only", "nvfp4_te_ref", "--json"]) == 0
    names = [row["name"] for row in json.loads(capsys.readouterr().out)["rows"] if not row["name"].endswith("torch")]
    assert names == [*(f"quantize nvfp4_te_ref {engine}" for engine in ("native", "numpy", "c_ref")), "dequantize nvfp4_te_ref"]


def test_unknown_case_is_misuse(capsys):
    assert run(["bench", "--elements", "4096", "--only", "zzz"]) == 2
    assert "no case contains 'zzz'" in capsys.readouterr().err


def test_bench_of_matrix_products(capsys):
    assert run(["bench", "--elements", "4096", "--repeats", "1", "--only", "matmul nvfp4 16x8x64", "--jobs", "2", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    engines = ("native", "numpy", "c_ref")
    assert [row["name"] for row in rows] == [f"matmul nvfp4 16x8x64 {engine}{more}" for engine in engines for more in ("", ", 2 jobs")]
    assert all(row["rate"] > 0 and row["elements"] == 16 * 8 * 64 for row in rows)


def test_bench_of_a_file(capsys, tmp_path):
    np.save(tmp_path / "x.npy", np.ones((16, 64), np.float32))
    assert run(["bench", "--model", str(tmp_path / "x.npy"), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["elements"] == 1024
    assert [stage["name"] for stage in found["stages"]] == ["read", "amax", "quantize", "pack", "dequantize", "write", "all"]
