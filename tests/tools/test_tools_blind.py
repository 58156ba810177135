"""Blind mutation: what is drawn, how a mutant is judged, and what the kept record says; on a small clone of its own."""

import json
import subprocess
from pathlib import Path

import pytest

from emu.base.errors import EngineError, FileError
from tools.blind import judge
from tools.blind.__main__ import DEFAULT, RECORD, counts, main
from tools.blind.draw import Mutant
from tools.blind.judge import Bench, Verdict

DOUBLE = "def double(x: int | None) -> int:\n    return 0 if x is None else x + x\n"
FILE = "emu/engines/exact/double.py"
TESTS = {
    "tests/double/test_double_near.py": "from emu.engines.exact.double import double\ndef test_three():\n    assert double(3) == 6\n",
    "tests/double/conftest.py": "",
    FILE: DOUBLE,
}


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    root = tmp_path / "clone"
    packages = ("emu/__init__.py", "emu/engines/__init__.py", "emu/engines/exact/__init__.py")
    packages += ("emu/testing/__init__.py", "emu/testing/plugin.py")  # pytest loads the plugin of an installed emu by this name
    for name, text in TESTS.items() | dict.fromkeys(packages, "").items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, encoding="utf-8")
    subprocess.run(["git", "init", "-q"], check=True, cwd=root)
    return root


def judged(clone: Path, monkeypatch: pytest.MonkeyPatch, text: str) -> tuple[Bench, Verdict]:
    monkeypatch.setattr(judge, "changed_source", lambda source, operator, occurrence: text)
    bench = Bench(clone, clone.parent / "copy", 3, 100)
    return bench, bench.judged(Mutant(FILE, 2, "X", 0, "", "", ""))


@pytest.mark.exhaustive  # pytest in a process of its own
def test_the_first_failing_test_kills_and_the_copy_is_right_again(clone, monkeypatch):
    bench, verdict = judged(clone, monkeypatch, DOUBLE.replace("x + x", "x * x"))
    assert verdict == Verdict("killed", "tests/double/test_double_near.py::test_three", 1)
    assert (bench.place / FILE).read_text(encoding="utf-8") == (clone / FILE).read_text(encoding="utf-8") == DOUBLE
    assert bench.sound == {verdict.killer}


@pytest.mark.exhaustive  # pytest in a process of its own
def test_what_no_test_sees_survives(clone, monkeypatch):
    assert judged(clone, monkeypatch, DOUBLE.replace("0 if", "1 if"))[1] == Verdict("survived", "", 1)


@pytest.mark.exhaustive  # pytest in a process of its own
def test_what_cannot_be_imported_is_killed_by_the_import(clone, monkeypatch):
    assert judged(clone, monkeypatch, "raise RuntimeError\n")[1].outcome == "killed"


@pytest.mark.exhaustive  # pytest in a process of its own
def test_what_does_not_end_is_open(clone, monkeypatch):
    bench = Bench(clone, clone.parent / "copy", 3, 0.01)
    monkeypatch.setattr(judge, "changed_source", lambda *_: DOUBLE)
    assert bench.judged(Mutant(FILE, 2, "X", 0, "", "", "")) == Verdict("open", "", 1)


@pytest.mark.exhaustive  # pytest in a process of its own
def test_a_test_that_fails_without_a_change_judges_nothing(clone, monkeypatch):
    (clone / "tests/double/test_double_near.py").write_text(
        "import emu.engines.exact.double\ndef test_it():\n    assert 0\n", encoding="utf-8"
    )
    with pytest.raises(EngineError, match="fails on the right source too"):
        judged(clone, monkeypatch, DOUBLE + "\n")


def test_a_source_without_a_test_is_an_error(clone, monkeypatch):
    (clone / "tests/double/test_double_near.py").unlink()
    with pytest.raises(EngineError, match="no test is known"):
        judged(clone, monkeypatch, DOUBLE)


def test_places_are_drawn_by_the_seed_and_never_in_annotations(clone):
    pytest.importorskip("cosmic_ray", reason="the mutants are those of Cosmic Ray: pip install -c constraints.txt cosmic-ray")
    from tools.blind.draw import changed_source, drawn, places

    found = places(DOUBLE)
    assert found and all(line == 2 for line, *_ in found)
    mutants = drawn(clone, ["emu/engines/exact"], 5, 4)
    assert mutants == drawn(clone, ["emu/engines/exact"], 5, 9)[:4] != drawn(clone, ["emu/engines/exact"], 6, 4)
    assert len({(mutant.operator, mutant.occurrence) for mutant in mutants}) == 4
    for mutant in mutants:
        text = changed_source(DOUBLE, f"core/{mutant.operator}", mutant.occurrence)
        assert text is not None and mutant.after in text and mutant.before in DOUBLE and mutant.before != mutant.after


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--count", "0"], "must be above 0"),
        (["--room", "nowhere"], "--room nowhere: no such folder"),
        (["--check", "--out", "/nowhere.json"], "record of blind mutants"),
    ],
)
def test_wrong_words_are_one_line(capsys, monkeypatch, words, said):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: name)
    assert main(words) == 2
    err = capsys.readouterr().err
    assert said in err and err.count("\n") == 1


def test_the_record_keeps_its_counts_and_says_what_changed(checkout, tmp_path, capsys):
    data = RECORD.read(checkout / DEFAULT)
    assert data["counts"] == counts(data["mutants"]) and sum(data["counts"].values()) == len(data["mutants"]) > 0
    assert all(each["note"] for each in data["mutants"] if each["outcome"] not in ("killed", "open"))  # why nobody has to look again
    copy = tmp_path / "record.json"
    RECORD.write(copy, data | {"mutants": [data["mutants"][0] | {"outcome": "survived"}]})
    with pytest.raises(FileError, match="outcome survived"):
        RECORD.read(copy)
    RECORD.write(copy, data | {"counts": data["counts"] | {"killed": 0}})
    with pytest.raises(FileError, match="counts"):
        RECORD.read(copy)
    first = data["mutants"][0] | {"sha256": "0" * 64}
    copy.write_text(json.dumps(data | {"mutants": [first], "counts": counts([first])}), encoding="utf-8")
    assert main(["--check", "--out", str(copy), "--root", str(checkout)]) == 1
    assert f"changed since: {first['file']}" in capsys.readouterr().out
