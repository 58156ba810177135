"""emu doctor: every shipped worked example holds, and a wrong one is reported with exit code 1."""

import json
import os
import subprocess
import sys

import pytest

from emu.cli.examples.run import faults
from emu.cli.main import run
from emu.spec import KINDS, get, names
from emu.spec.carried import facts_of_all

FORMAT = """kind: "format"
id: "mine"
title: "my format"
status: "proposed"
facts: {class: "float", signed: "yes", exp_bits: 1, frac_bits: 1, bias: 1, subnormals: "yes", inf: "none", nan: "none", neg_zero: "yes"}
expect: [{code: "0x1", value: "1/2"}, {code: "0x3", value: "%s"}]
open: []
sources: [{ref: "emu", where: "a test"}]
"""


@pytest.mark.cases(35, 20)
@pytest.mark.parametrize(("kind", "name"), [(kind, name) for kind in KINDS for name in names(kind)])
def test_every_example_holds(kind, name):
    assert [(number, fault) for number, fault in faults(get(kind, name)) if fault is not None] == []


@pytest.mark.parametrize("kind", KINDS)
def test_examples_of_another_object_are_refused(kind):
    """Each kind has an object whose worked examples do not hold for the next one: a check that finds nothing wrong would pass them."""
    things = [thing for thing in (get(kind, name) for name in names(kind)) if thing.expect]
    assert things
    swapped = [one.model_copy(update={"expect": other.expect}) for one, other in zip(things, [*things[1:], things[0]], strict=True)]
    if kind == "instruction":  # whose worked examples name their form: the next result in the place of each
        swapped = [one.model_copy(update={"expect": shifted(one.expect)}) for one in things]
    if kind in ("series", "epilogue"):  # one object
        key = "value" if kind == "series" else "d"
        swapped = [one.model_copy(update={"expect": shifted(one.expect, key)}) for one in things]
    assert any(fault is not None for thing in swapped for _, fault in faults(thing))


def shifted(examples, key="result"):
    """Worked examples with the results of their neighbours."""
    results = [getattr(item, key) for item in examples]
    return tuple(item.model_copy(update={key: result}) for item, result in zip(examples, [*results[1:], results[0]], strict=True))


def doctor(folder, *words):
    command = [sys.executable, "-P", "-c", "from emu.cli.main import main; main()", "doctor", "--json", *words]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "EMU_SPEC_PATH": str(folder)})
    return done.returncode, {check["what"]: check for check in json.loads(done.stdout)["checks"]}


def test_all_is_well(capsys, checkout):
    assert run(["doctor"]) == 0
    found = capsys.readouterr()
    assert "WRONG" not in found.out
    assert found.err == "all well\n"
    assert "nearest even, subnormals kept" in found.out
    (version,) = [line.split()[1] for line in (checkout / "vectors" / "VERSION").read_text(encoding="utf-8").splitlines()[:1]]
    assert f"objects, facts {facts_of_all()}" in found.out and f"golden vectors     note     {version}: " in found.out


@pytest.mark.exhaustive  # everything is checked, twice
def test_a_users_file_is_checked_too(tmp_path):
    (tmp_path / "mine.yaml").write_text(FORMAT % "3/2")
    assert doctor(tmp_path)[0] == 0
    (tmp_path / "mine.yaml").write_text(FORMAT % "5/2")
    code, checks = doctor(tmp_path)
    assert code == 1
    assert checks["format/mine"] == {"what": "format/mine", "state": "WRONG", "detail": "worked example 1: 3/2, not 5/2"}
