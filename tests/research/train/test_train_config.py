"""Training configurations: shipped ones load, faults are one line, runs and identities. No torch here."""

import json
from pathlib import Path

import pytest

from emu.base.errors import EmuError, FileError, OperandError, SpecError
from research.__main__ import run
from research.train.config import Decoders, StudentTeacher, digest_of, facts, load, shipped
from research.train.plan import difference, runs_of

TEXT = """\
kind: "student_teacher"
id: "tiny"
title: "tiny"
metric: "error"
steps: 4
batch: 32
checkpoint_every: 2
blocks: 1
width: 32
hidden: 32
student_noise: "0.3"
held_out: 32
optimizer: {lr: "0.001", final_lr: "0.00001", betas: ["0.9", "0.95"]}
models:
  plain: {column_spread: "0"}
  loud: {column_spread: "1.0"}
runs:
  - {models: ["plain", "loud"], trainings: ["bf16", "ufp4"], seeds: [0, 1]}
  - {models: ["plain"], trainings: ["bf16", "nve0m3"], seeds: [0]}
"""


def written(folder: Path, text: str) -> Path:
    path = folder / "tiny.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def test_shipped_configurations_load_and_name_their_file():
    names = shipped()
    assert {"student_teacher", "decoder_cpu", "decoder_gpu"} <= set(names)
    assert [load(name).id for name in names] == list(names)


def test_the_issue_asks_three_seeds_three_sizes_dense_and_experts():
    found = load("decoder_cpu")
    assert isinstance(found, Decoders)
    main = {"bf16", "ufp4", "e2m1_baseline"}
    dense = {name for name, model in found.models.items() if not model.experts}
    for training in main:
        seeds = {}
        for one in runs_of(found, [training]):
            seeds.setdefault(one.model, set()).add(one.seed)
        assert {name for name in dense if len(seeds[name]) >= 3} == dense
    assert len(dense) >= 3
    assert len(found.models) > len(dense)


def test_references_of_the_student_are_runs_of_the_file():
    found = load("student_teacher")
    assert isinstance(found, StudentTeacher)
    known = {(one.model, one.training) for one in runs_of(found)}
    assert {(item.model, item.training) for item in found.reference} == known
    assert all(len(item.metrics) == 3 for item in found.reference)


def test_numbers_are_quoted_decimals(tmp_path):
    found = load(written(tmp_path, TEXT))
    assert (found.optimizer.lr, found.optimizer.betas, found.optimizer.weight_decay) == (0.001, (0.9, 0.95), 0.0)
    with pytest.raises(SpecError, match=r"tiny\.yaml:13: optimizer\.lr: "):
        load(written(tmp_path, TEXT.replace('"0.001"', '"1e-3"')))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("steps: 4", "steps: 0", r"tiny\.yaml:5: steps: "),
        ("width: 32", "width: 24", r"tiny\.yaml:9: width: "),
        ('id: "tiny"', 'id: "tiny"\nextra: 1', r"tiny\.yaml:3: extra: "),
        ('"student_teacher"', '"teacher"', r"kind 'teacher' is unknown: one of student_teacher, decoder"),
        ('models: ["plain", "loud"]', 'models: ["quiet"]', r"tiny\.yaml:18: model quiet is not in this file: one of plain, loud"),
        ("seeds: [0, 1]", "seeds: []", r"tiny\.yaml:18: runs\.0\.seeds: "),
    ],
)
def test_a_fault_is_one_line_with_its_place(tmp_path, old, new, message):
    with pytest.raises(SpecError, match=message) as caught:
        load(written(tmp_path, TEXT.replace(old, new, 1)))
    assert "\n" not in str(caught.value)


def test_heads_must_fit():
    from pydantic import ValidationError

    from research.train.config import Decoder

    with pytest.raises(ValidationError, match="change heads"):
        Decoder(width=32, layers=1, heads=3, hidden=32)


def test_runs_are_each_once_and_seed_by_seed(tmp_path):
    found = load(written(tmp_path, TEXT))
    names = [one.name for one in runs_of(found)]
    assert len(names) == len(set(names)) == 9
    assert names[0] == "plain/bf16/seed0"
    assert [name[-1] for name in names] == sorted(name[-1] for name in names)
    assert [one.name for one in runs_of(found, ["plain", "bf16"], [7])] == ["plain/bf16/seed7"]
    with pytest.raises(OperandError, match="--only quiet: no model and no training of tiny: one of plain, loud, bf16, ufp4, nve0m3"):
        runs_of(found, ["quiet"])
    with pytest.raises(OperandError, match="never meet"):
        runs_of(found, ["loud", "nve0m3"])


def test_facts_decide_bits_and_the_rest_does_not(tmp_path):
    found = load(written(tmp_path, TEXT))
    other = load(written(tmp_path, TEXT.replace('title: "tiny"', 'title: "other"').replace("checkpoint_every: 2", "checkpoint_every: 3")))
    assert facts(found) == facts(other)
    assert digest_of(found) != digest_of(other)
    assert difference(facts(found), facts(other)) is None
    changed = load(written(tmp_path, TEXT.replace('"0.9"', '"0.8"')))
    assert difference(facts(found), facts(changed)) == "optimizer.betas was [0.9, 0.95], is [0.8, 0.95]"


def test_difference_sees_a_key_that_is_gone():
    assert difference({"a": {"b": 1}}, {"a": {}}) == "a.b was 1, is None"
    assert difference({"a": "0" * 64}, {"a": "1" * 64}) == f"a was {'0' * 16}, is {'1' * 16}"
    assert difference({"a": [1]}, {"a": [1]}) is None


def test_list_prints_every_configuration(capsys):
    assert run(["train", "--list", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert [row["name"] for row in rows] == list(shipped())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "emu: --config is missing: a file, or one of "),
        (["--config", "nowhere"], "emu: nowhere: no such file and no shipped configuration: give a file or one of "),
        (["--config", "student_teacher", "--seeds", "a"], "write numbers with commas, as 0,1,2"),
        (
            ["--config", "student_teacher", "--only", "none"],
            "emu: --only none: no model and no training of student_teacher: one of outliers",
        ),
        (["--config", "student_teacher", "--capture", "250"], "emu: --capture 250: student_teacher has steps 0 to 249"),
        (["--config", "student_teacher", "--plot", "x.pdf"], "emu: x.pdf: loss curves are drawn as .png or .svg"),
        (["--config", "student_teacher", "--collect", "--out", "nowhere"], "emu: nowhere: no finished run of student_teacher"),
        (
            ["--check", "nowhere.json"],
            "emu: nowhere.json: no record of training (No such file or directory): make it with: python -m research train",
        ),
    ],
)
def test_misuse_is_one_line(capsys, arguments, message):
    assert run(["train", *arguments]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1


def test_errors_are_emu_errors(tmp_path):
    with pytest.raises(FileError):
        load(tmp_path / "missing.yaml")
    assert issubclass(FileError, EmuError)
