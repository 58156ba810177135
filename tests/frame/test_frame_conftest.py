"""The checks that tests/conftest.py makes before the first test: each fault is seen, a sound installation passes."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml
from support.seconds import slow

from tools.rings.seconds import is_there


@pytest.fixture
def conftest(pytestconfig, checkout):
    return pytestconfig.pluginmanager.get_plugin(str(checkout / "tests" / "conftest.py"))


@pytest.fixture
def installed(checkout, tmp_path):
    """A copy of emu as a wheel lays it out."""
    package = Path(shutil.copytree(checkout / "emu", tmp_path / "emu"))
    shutil.copytree(checkout / "spec", package / "_spec")
    return package


def test_a_bare_checkout_is_refused(conftest, checkout):
    assert "not installed: pip install -e" in conftest.installation_fault(checkout / "emu", editable=False)


def test_sound_installations_pass(conftest, checkout, installed):
    assert conftest.installation_fault(checkout / "emu", editable=True) is None
    assert conftest.installation_fault(installed, editable=False) is None


@pytest.mark.cases(4)
@pytest.mark.parametrize("name", ["base/errors.py", "pages/templates/format.md.j2", "_spec/format/e2m1.yaml"])
@pytest.mark.parametrize("change", ["edited", "deleted"])
def test_an_installed_copy_of_other_sources_is_refused(conftest, installed, name, change):
    path = installed / name
    if change == "edited":
        path.write_bytes(path.read_bytes() + b"\n")
    else:
        path.unlink()
    fault = conftest.installation_fault(installed, editable=False)
    assert f"differs from this checkout in {name.replace('_spec/', 'spec/') if '_spec' in name else 'emu/' + name}:" in fault


@pytest.mark.parametrize(("name", "digest"), [("c_ref._c", "emu_source_digest"), ("native._kernels", "emu_kernels_digest")])
def test_a_stale_extension_is_refused(conftest, monkeypatch, name, digest):
    assert conftest.extension_fault(monkeypatch) is None
    stale = SimpleNamespace(ffi=SimpleNamespace(string=bytes), lib=SimpleNamespace(**{digest: b"0" * 64}))
    monkeypatch.setitem(sys.modules, f"emu.engines.{name}", stale)
    assert f"the C extension {name} was compiled from other sources (000000000000," in conftest.extension_fault(monkeypatch)


@pytest.mark.parametrize("name", ["c_ref._c", "native._kernels"])
def test_a_missing_extension_is_refused(conftest, monkeypatch, name):
    monkeypatch.setitem(sys.modules, f"emu.engines.{name}", None)
    assert conftest.extension_fault(monkeypatch).startswith("the C extension is missing")


def test_the_run_stops_before_the_first_test(checkout, tmp_path):
    shutil.copytree(checkout / "tests" / "frame", tmp_path / "tests" / "frame", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(checkout / "tests" / "conftest.py", tmp_path / "tests")
    shutil.copy(checkout / "pyproject.toml", tmp_path)
    (tmp_path / "emu").mkdir()
    (tmp_path / "emu" / "newer.py").write_text('"""A module that no installation has."""\n', encoding="utf-8")
    pytest_script = Path(sys.executable).with_name("pytest")
    done = subprocess.run([pytest_script, "-q"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == pytest.ExitCode.USAGE_ERROR
    assert "newer.py" in done.stdout + done.stderr
    assert "passed" not in done.stdout


class Case:
    """What the hook asks of a test item."""

    def __init__(self, name, *marks):
        self.nodeid, self.added = name, []
        self.marks = {mark.name: mark for mark in marks}

    def get_closest_marker(self, name):
        return self.marks.get(name)

    def add_marker(self, name):
        self.added.append(name)
        self.marks[name] = name


class Config:
    """What the hook tells pytest."""

    def __init__(self):
        self.hook, self.left = self, []

    def pytest_deselected(self, items):
        self.left += items


@pytest.mark.parametrize(("everything", "in_all"), [("", 5), ("1", 11)])
def test_a_share_of_many_cases_is_of_the_default_run(conftest, monkeypatch, everything, in_all):
    monkeypatch.setenv("EMU_ALL", everything)
    config = Config()
    mark = pytest.mark.cases(2, 3).mark
    items = [Case("a.py::plain"), *(Case(f"a.py::many[{number}]", mark) for number in range(11))]
    kept = list(items)
    conftest.pytest_collection_modifyitems(config, kept)
    assert len(kept) == 1 + in_all and len(config.left) == 11 - in_all and set(kept) | set(config.left) == set(items)
    assert [item.nodeid for item in kept if not item.added] == ["a.py::plain", "a.py::many[0]", "a.py::many[10]"]
    assert all(item.added == ["exhaustive"] for item in kept[1:] if item not in (items[1], items[11]))


def test_a_slow_case_is_of_the_exhaustive_run_where_a_faster_test_of_its_file_stays(conftest, tmp_path, monkeypatch):
    (tmp_path / "tests" / "mutation" / "catalogue").mkdir(parents=True)
    (tmp_path / "tests/mutation/catalogue/a.yaml").write_text('faults:\n  - tests: ["a.py::named", "d.py"]\n', encoding="utf-8")
    (tmp_path / "pyproject.toml").write_text("[tool.emu.rings]\nseconds = 2\nstay = ['tests/b.py::kept']\n", encoding="utf-8")
    slow_ones = ["a.py::some[0]", "a.py::alone", "a.py::named[0]", "b.py::kept[0]", "b.py::mutant[0]", "c.py::few[0]", "d.py::all"]
    quick = ["a.py::some[1]", "b.py::kept[1]", "b.py::mutant[1]", "c.py::few[1]", "d.py::new"]
    known = dict.fromkeys((f"tests/{name}" for name in slow_ones), 2.1) | {"tests/a.py::some[1]": 2.0}
    (tmp_path / "tests" / "seconds.json").write_text(json.dumps(known), encoding="utf-8")
    monkeypatch.setattr(conftest, "ROOT", tmp_path)
    marks = {"mutant": [pytest.mark.mutants.mark], "few": [pytest.mark.cases(1).mark]}  # of `few`, the default run has the slow case alone
    items = [Case(f"tests/{name}", *marks.get(name.partition("::")[2].partition("[")[0], [])) for name in [*slow_ones, *quick]]
    conftest.pytest_collection_modifyitems(Config(), items)
    assert [item.nodeid for item in items if item.added] == ["tests/a.py::some[0]", "tests/a.py::alone", "tests/c.py::few[1]"]


def test_seconds_are_of_tests_that_are_there_and_tests_of_seeded_faults_stay(checkout):
    known = json.loads((checkout / "tests" / "seconds.json").read_text(encoding="utf-8"))
    assert known and [name for name in known if not is_there(checkout, name)] == []
    catalogues = (checkout / "tests" / "mutation" / "catalogue").glob("*.yaml")
    faults = [fault for path in catalogues for fault in yaml.safe_load(path.read_text(encoding="utf-8")).get("faults", ())]
    named = {f"tests/{name}" for fault in faults for name in fault.get("tests", ())}
    assert len(named) > 20 and named & {name.partition("[")[0] for name in slow(checkout)} == set()


@pytest.mark.cases(1)
@pytest.mark.parametrize("words", [["-n", "1"], []])
def test_seconds_are_written_for_each_test_and_not_by_runs_inside(checkout, tmp_path, words):
    path = tmp_path / "seconds.jsonl"
    command = [
        Path(sys.executable).with_name("pytest"),
        "-q",
        "-p",
        "no:cacheprovider",
        *words,
        str(checkout / "tests/tools/test_tools_lines.py"),
    ]
    done = subprocess.run(command, cwd=checkout, capture_output=True, text=True, env=os.environ | {"EMU_SECONDS": str(path)})
    assert done.returncode == 0, done.stdout
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    assert f"{len(rows)} passed" in done.stdout and len({row["test"] for row in rows}) == len(rows)
    assert all(row["test"].startswith("tests/tools/test_tools_lines.py::") and row["seconds"] >= 0 for row in rows)


def test_a_test_for_releases_alone_has_no_case_left(conftest, monkeypatch):
    monkeypatch.delenv("EMU_ALL", raising=False)
    config, items = Config(), [Case("b.py::one", pytest.mark.cases(0, 0).mark)]
    conftest.pytest_collection_modifyitems(config, items)
    assert items == [] and len(config.left) == 1


@pytest.mark.parametrize(("length", "count", "places"), [(5, 9, [0, 1, 2, 3, 4]), (5, 1, [0]), (5, 0, []), (10, 4, [0, 3, 6, 9])])
def test_cases_are_spread(conftest, length, count, places):
    assert conftest.spread(list(range(length)), count) == places
