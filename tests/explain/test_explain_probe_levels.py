"""Probes of datapaths of levels: every hypothesis is named by its own answers; files, combinations, other datapaths, the command."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

import pytest
from support.level_samples import drawn_datapath, write_datapath

import emu
from emu.cli.main import run
from emu.contracts.levels.deviations import changed
from emu.contracts.levels.hypotheses import answer_of
from emu.contracts.levels.rows import LevelsRow, row_of
from emu.explain.probe.files import answers_template, data_of, read_answers, readme, rows_text, write_probe
from emu.explain.probe.run import Finding, Probe, identify, make_probe
from emu.spec import get, names
from emu.spec.levels import LevelsPlan
from emu.spec.models.levels import DatapathLevels
from emu.spec.registry import isolated, shipped_root
from emu.spec.steps import level_facts

MAIN = ("int12_saturate", "bf16_register_random", "systolic_4way", "rvbna4_rne")
LEVELS = [name for name in names("datapath") if isinstance(get("datapath", name).facts, DatapathLevels)]


@cache
def probe_of(name: str) -> Probe:
    return make_probe(name)


def rows_of(probe: Probe) -> list[LevelsRow]:
    """The rows out of the hex text that the owner of a machine gets."""
    assert isinstance(probe.plan, LevelsPlan)
    keys = ("a", "b", "sa", "sb", "c", "random")
    return [row_of(probe.plan, *(row.get(key) for key in keys)) for row in data_of(probe)["rows"]]


def of_machine(plan, probe: Probe) -> Finding:
    """What is found when a machine answers as the reference model does by a plan."""
    return identify(probe, [answer_of(row, probe.plan, plan) for row in rows_of(probe)])


def each_is_named(probe: Probe) -> int:
    """Check that every class is identified as itself and nothing else; return how many classes there are. A row may be refused."""
    for members in probe.classes:
        wanted = [probe.hypotheses[number] for number in members]
        if all(code is not None for code in probe.answers[members[0]]):
            found = of_machine(wanted[0].plan, probe)
            assert list(found.fits) == wanted and not found.unexplained and not found.combined and not found.nearest
    return len(probe.classes)


@pytest.mark.cases(1, 1)
@pytest.mark.parametrize("name", MAIN)
def test_every_hypothesis_is_named(name):
    probe = probe_of(name)
    assert [built.row for built in probe.rows] == rows_of(probe) and len(probe.rows) <= 20
    assert each_is_named(probe) >= 10
    assert sorted(number for members in probe.classes for number in members) == list(range(len(probe.hypotheses)))


@pytest.mark.cases(0, 3)
@pytest.mark.parametrize("name", [name for name in LEVELS if name not in MAIN])
def test_every_shipped_datapath_of_levels_is_named(name):
    assert each_is_named(probe_of(name)) >= 4


ALONE = {
    "int12_saturate": ("k.hold.bits 11", "k.hold.bits 13", "k.hold.overflow wrap (= int12_wrap)", "k.hold.overflow sticky_inf"),
    "bf16_register_random": ("k.hold.rounding rne (= bf16_register)", "k.by 2", "k.hold.subnormals flush", "special.zero plus"),
    "systolic_4way": ("way.hold.rounding rz", "join.hold exact", "way.start c, out.plus none", "special.when once"),
    "rvbna4_rne": ("bulk.align.cut rz", "bulk.align.exponent normalised", "bulk.add exact", "k.hold.rounding odd (= rvbna4_odd)"),
}


@pytest.mark.cases(1, 3)
@pytest.mark.parametrize("name", MAIN)
def test_one_fact_of_a_level_is_told_from_all_others(name):
    probe = probe_of(name)
    texts = [[probe.hypotheses[number].text for number in members] for members in probe.classes]
    assert texts[0][0] == f"{name} as it stands"
    alone = {members[0].removeprefix(f"{name}: ") for members in texts if len(members) == 1}
    assert [text for text in ALONE[name] if text not in alone] == [], sorted(alone)


def test_other_datapaths_with_the_same_operands_are_told_apart():
    """The register that cuts its unit is another datapath; the one that wraps is one fact away."""
    texts = [item.text for item in probe_of("int12_saturate").hypotheses]
    assert "int12_cut as it stands" in texts and "int12_wrap as it stands" not in texts


@pytest.mark.exhaustive
def test_a_fused_step_is_a_hypothesis_beside_its_levels(tmp_path: Path):
    """A chain of fused steps whose specials are made at each addition has levels only; fused datapaths stand beside it."""
    name = "blackwell_mxf4_b32_ue8m0"
    facts = level_facts(get("datapath", name).facts)
    facts = facts.model_copy(update={"special": facts.special.model_copy(update={"when": "per_add"})})
    write_datapath(get("datapath", name).model_copy(update={"id": "twin", "facts": facts}), tmp_path)
    with isolated(shipped_root()):
        emu.load_spec(tmp_path)
        probe = make_probe("twin")
        assert isinstance(probe.plan, LevelsPlan)
        assert f"{name} as it stands" in [item.text for item in probe.hypotheses]
        assert each_is_named(probe) >= 10


def test_two_changes_are_found_by_combining():
    probe = probe_of("bf16_register_random")
    assert isinstance(probe.plan, LevelsPlan)
    other = changed(probe.plan, [(("levels", 0, "hold", "keep"), 6), (("out", "subnormals"), "flush")])
    assert other is not None
    found = of_machine(other.plan, probe)
    assert found.combined and "k.hold.keep 6, k.hold.rounding sr_add8, out.subnormals flush" in found.fits[0].text


@pytest.mark.exhaustive
def test_an_answer_that_no_hypothesis_expects_is_named():
    probe = probe_of("systolic_4way")
    given = list(probe.answers[0])
    given[1] = 0x12345678
    found = identify(probe, given)
    assert not found.fits and found.unexplained == ((2, 0x12345678),) and probe.hypotheses[0] in found.nearest


def test_files_are_read_back(tmp_path: Path):
    probe = probe_of("bf16_register_random")
    command = "emu probe bf16_register_random --out new"
    write_probe(probe, tmp_path / "new", command)
    text = (tmp_path / "new" / "README.md").read_text()
    assert text == readme(probe, command) and "as one instruction with K = 4, one output: D = A * B + C." in text
    assert "`r` 32 bits (4 x random word)" in text and "   `r`: one word for each rounding that draws" in text
    lines = rows_text(probe).splitlines()
    assert len(lines) == len(probe.rows) + 1
    for line, row in zip(lines, rows_of(probe), strict=False):
        assert int(line.split()[-1], 16) == sum(word << 8 * place for place, word in enumerate(row.random))
    path = tmp_path / "answers.txt"
    head = answers_template(probe).splitlines()[:2]
    path.write_text("\n".join([*head, *(f"{number} {code:04x}" for number, code in enumerate(probe.answers[3], 1))]) + "\n")
    assert probe.hypotheses[3] in identify(probe, read_answers(path, probe)).fits


def test_the_command_probes_a_users_datapath(tmp_path: Path, capsys):
    """A file of an unreleased chip: rows, answers of a machine that is one of its hypotheses, and its name."""
    model = drawn_datapath(7001)
    write_datapath(model, tmp_path / "spec")
    words = ["probe", model.id, "--spec", str(tmp_path / "spec")]
    with isolated(shipped_root()):
        assert run([*words, "--out", str(tmp_path / "probe")]) == 0
        data = json.loads((tmp_path / "probe" / "probe.json").read_text())
        answers = tmp_path / "probe" / "answers.txt"
        head = answers.read_text().splitlines()[:2]
        answers.write_text("\n".join([*head, *(f"{i} {code}" for i, code in enumerate(data["hypotheses"][0]["answers"], 1))]) + "\n")
        capsys.readouterr()
        assert run([*words, "--answers", str(answers)]) == 0
    assert f"  {model.id} as it stands\n" in capsys.readouterr().out
