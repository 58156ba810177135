"""Forks: the same bits after a kill and over processes, one BF16 run under all of them, files of another configuration refused."""

import importlib
import json
import os
import re
from fractions import Fraction

import pytest
from support.cluster import need_cluster

from emu.base.errors import FileError, SpecError
from emu.spec.registry import restored
from emu.spec.training import plan_of
from research import on_cluster
from research.__main__ import run
from research.forks.config import add_ablations, load, shipped, training_of
from research.forks.plan import forks_of, units_of

torch = importlib.import_module("torch") if os.environ.get("EMU_NEED_TORCH") else pytest.importorskip("torch", reason="no torch here")


def go(tiny, out, *more):
    return run(["forks", "run", "--config", str(tiny), "--out", str(out), "--quiet", *more])


def results(out):
    return {path.relative_to(out).as_posix(): json.loads(path.read_text("utf-8")) for path in sorted(out.rglob("*.json"))}


def test_what_is_planned(tiny):
    config = load(tiny)
    names = [item.name for item in forks_of(config)]
    assert len(names) == len(set(names)) == 5 + 5 + 2 + 8 + 8
    assert names[0] == "dense/seed0/fork0/bf16/draw1"  # draw 0 of BF16 is what others are held against
    assert names[-1] == "dense/seed1/fork0/e2m1_baseline/draw1/length"
    assert [len(unit) for unit in units_of(forks_of(config))] == [5, 5, 2, 4, 4, 4, 4]


def test_the_shipped_configurations_name_what_exists():
    with restored():
        add_ablations()
        for name in shipped():
            config = load(name)
            for item in forks_of(config):
                plan_of(training_of(item.training))
            compared = {item.better for item in config.ablations} | {item.worse for item in config.ablations}
            assert compared <= {item.training for item in forks_of(config)}


def test_rotations_of_a_product_cancel():
    with restored():
        add_ablations()
        for name in ("e1m2_rht32", "e1m2_rht64", "e1m2_rht128"):
            plan = plan_of(training_of(name))
            for gemm in ("fprop", "dgrad", "wgrad"):
                first, second = (item.transform.facts for item in plan.pair(gemm))
                assert Fraction(first.scale) * Fraction(second.scale) * first.size == 1
                assert first.model_copy(update={"scale": ""}) == second.model_copy(update={"scale": ""})
        assert training_of("ufp4").id == "ufp4"


def test_a_killed_experiment_goes_on_with_the_same_bits(tiny, tmp_path, monkeypatch, capsys):
    from research.forks import runs

    assert go(tiny, tmp_path / "straight") == 0
    real, done = runs.Reference.figures, []

    def fails(self, fork):
        if len(done) == 7:
            raise KeyboardInterrupt
        done.append(fork)
        return real(self, fork)

    monkeypatch.setattr(runs.Reference, "figures", fails)
    assert go(tiny, tmp_path / "broken") == 130
    assert len(results(tmp_path / "broken")) == 7
    monkeypatch.setattr(runs.Reference, "figures", real)
    assert go(tiny, tmp_path / "broken") == 0
    assert results(tmp_path / "broken") == results(tmp_path / "straight")
    first, second = ((tmp_path / name / "tiny" / "dense" / "seed1" / "base.safetensors").read_bytes() for name in ("straight", "broken"))
    assert first == second
    capsys.readouterr()


def test_figures_of_forks(tiny, tmp_path, capsys):
    out, record = tmp_path / "out", tmp_path / "record.json"
    assert go(tiny, out, "--record", str(record)) == 0
    found = {name: item["figures"] for name, item in results(out).items()}
    ulp = found["tiny/dense/seed0/fork0/bf16/draw1.json"]
    first, other = (found[f"tiny/dense/seed0/fork0/ufp4/draw{draw}.json"] for draw in (0, 1))
    assert 0 <= ulp["kl"][0] < first["kl"][0]
    assert ulp["gradient"]["exact"][0] < first["gradient"]["exact"][0] < first["gradient"]["quantized"][0] * 10
    assert first["bits"] != other["bits"]
    assert first["kl"] != other["kl"]
    same = [found[f"tiny/dense/seed0/fork0/{name}/draw0.json"] for name in ("nvufp4", "nve0m3")]
    assert same[0]["bits"] == same[1]["bits"]  # one grid, twice
    long = found["tiny/dense/seed0/fork0/ufp4/draw0/length.json"]
    assert len(long["kl"]) == len(long["gap"]) == 3
    assert len(first["layers"]["exact"]["fprop"]) == 4  # qkv, out, gate and up, down
    no_sr = found["tiny/dense/seed0/fork0/ufp4_no_sr/draw0.json"]["products"]["exact"]
    assert no_sr["fprop"] == first["products"]["exact"]["fprop"]  # the same signs; only gradients are rounded otherwise
    assert no_sr["wgrad"][0] < first["products"]["exact"]["wgrad"][0]
    capsys.readouterr()
    assert run(["forks", "check", "--record", str(record)]) == 0
    assert capsys.readouterr().out == f"{record}: fits the spec\n"
    assert run(["forks", "show", "--record", str(record), "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert [item["clusters"] for item in shown] == [3, 3, 2, 2]
    kept = json.loads(record.read_text("utf-8"))
    kept["trainings"]["ufp4"] = "0" * 64
    record.write_text(json.dumps(kept), encoding="utf-8")
    assert run(["forks", "check", "--record", str(record)]) == 1
    assert "made from other facts: ufp4: run python -m research forks run" in capsys.readouterr().out


def test_results_do_not_depend_on_processes(tiny, tmp_path, capsys):
    text = tiny.read_text("utf-8")
    short = text[: text.index('  - {part: "ablation"')] + text[text.index("primary: {figure") :]
    tiny.write_text(short, encoding="utf-8")
    assert go(tiny, tmp_path / "one") == 0
    assert go(tiny, tmp_path / "two", "-j", "2") == 0
    assert results(tmp_path / "one") == results(tmp_path / "two")
    capsys.readouterr()


def test_results_of_another_configuration_are_refused(tiny, tmp_path, capsys):
    assert go(tiny, tmp_path / "out") == 0
    tiny.write_text(tiny.read_text("utf-8").replace("steps: 3\n", "steps: 4\n"), encoding="utf-8")
    capsys.readouterr()
    assert go(tiny, tmp_path / "out") == 2
    error = capsys.readouterr().err
    assert re.search(r"draw1\.json: config\.fork\.steps was 3, is 4: go on with what made it", error)
    assert error.count("\n") == 1


def test_mistakes_are_one_line(tiny, tmp_path):
    with pytest.raises(FileError, match="nothing: no such file and no shipped configuration: give a file or one of forks, forks_short"):
        load("nothing")
    tiny.write_text(tiny.read_text("utf-8").replace('models: ["dense", "experts"]', 'models: ["dense", "other"]'), encoding="utf-8")
    with pytest.raises(SpecError, match="model other is not in this file: one of dense, experts"):
        load(tiny)


def test_nothing_to_collect_is_one_line(tiny, tmp_path, capsys):
    assert go(tiny, tmp_path / "out", "--collect") == 2
    assert "no finished fork: run it first" in capsys.readouterr().err


@pytest.mark.exhaustive  # workers in processes of their own
def test_workers_of_a_cluster_make_the_same_files(tiny, tmp_path):
    need_cluster()
    one, many = tmp_path / "one", tmp_path / "many"
    assert go(tiny, one) == go(tiny, many, "--cluster", "local:2") == 0
    assert on_cluster.read(one) == on_cluster.read(many)
    lost = min(many.rglob("draw0.json"))
    lost.unlink()
    assert go(tiny, many, "--cluster", "local:1") == 0  # one fork is left, of a run that is there
    assert on_cluster.read(one) == on_cluster.read(many)
