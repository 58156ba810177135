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
    assert [row["name"] for row in rows] == [f"matmul nvfp4 16x8x64 {engine}" for engine in ("native", "numpy", "c_ref")]
    assert all(row["rate"] > 0 for row in rows)


def test_bench_of_threads_is_beside_one_thread(capsys, monkeypatch):
    from emu.bench import dots

    assert all(case.jobs == 1 for case in dots.cases())
    (both,) = [case for case in dots.cases(2) if case.jobs == 2 and case.engine == "native"]
    assert dots.label(both) == "matmul nvfp4 512x512x4096 native, 2 jobs" and both.peer.name == "emu, 1 job"
    tile = (16, 8, 64)
    one = dots.DotCase("nvfp4", both.choice, tile, "native", both.peer)
    alone = dots.Peer("emu, 1 job", tile, lambda rng: dots._job(one, dots.resolve(*one.choice), rng))
    monkeypatch.setattr(dots, "cases", lambda jobs: [dots.DotCase("nvfp4", both.choice, tile, "native", alone, jobs=jobs)])
    assert run(["bench", "--repeats", "1", "--elements", "4096", "--only", "matmul nvfp4 16x8x64", "--jobs", "2", "--json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)["rows"]
    assert row["name"] == "matmul nvfp4 16x8x64 native, 2 jobs" and row["rate"] > 0 and row["peer"] == "emu, 1 job"
