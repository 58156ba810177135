"""emu bench: it measures and prints; no number is judged here."""

import json

from emu.cli.main import run


def test_bench_prints_a_table(capsys):
    assert run(["bench", "--elements", "4096", "--repeats", "1", "--only", "decode"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("| job |")
    assert lines[2].startswith("| decode e2m1 |")


def test_bench_as_json(capsys):
    assert run(["bench", "--elements", "4096", "--repeats", "1", "--only", "decode", "--json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)["rows"]
    assert row["name"] == "decode e2m1"
    assert row["rate"] > 0


def test_unknown_case_is_misuse(capsys):
    assert run(["bench", "--elements", "4096", "--only", "zzz"]) == 2
    assert "no case contains 'zzz'" in capsys.readouterr().err


def test_bench_of_matrix_products(capsys):
    assert run(["bench", "--elements", "4096", "--repeats", "1", "--only", "matmul nvfp4 16x8x64", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert [row["name"] for row in rows] == [f"matmul nvfp4 16x8x64 {engine}" for engine in ("native", "fast", "c_ref")]
    assert all(row["rate"] > 0 for row in rows)
