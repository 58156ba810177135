"""Blind mutation: what is drawn, how a mutant is judged, and what the kept record says; on a small clone of its own."""

import json
import os
import pickle
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.cluster import need_cluster

from emu.base import cluster
from emu.base.errors import EngineError, FileError
from tools.blind import __main__ as command
from tools.blind import judge
from tools.blind.__main__ import DEFAULT, RECORD, counts, main
from tools.blind.draw import Mutant
from tools.blind.judge import Bench, Clone, Task, Verdict, bench, state_of

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
        text = changed_source(DOUBLE, mutant.operator, mutant.occurrence)
        assert text is not None and mutant.after in text and mutant.before in DOUBLE and mutant.before != mutant.after


C = b"""#define HIDDEN 3
int32_t f(int32_t a) {
    int32_t kept[4] = {1, 0x0Fu};
    if (a < 2 && !kept[0])
        kept[1] += a;
    return a ? kept[1] : -a;
}
"""
C_CHANGES = {
    "number + 1": ["{2, 0x0Fu}", "{1, 16u}", "a < 3", "!kept[1]", "kept[2] +=", "kept[2] :"],
    "number - 1": ["{0, 0x0Fu}", "{1, 14u}", "a < 1", "kept[0] +=", "kept[0] :"],
    "not": ["if (!((a < 2 && !kept[0])))", "(!(a)) ?"],
    "< becomes <=": ["a <= 2"],
    "< becomes >": ["a > 2"],
    "&& becomes ||": ["a < 2 || !"],
    "without !": ["&& kept[0]"],
    "+= becomes -=": ["kept[1] -= a"],
    "no statement": ["        ;\n"],
    "answers the other way round": ["a ? -a : kept[1]"],
    "without -": [": a;"],
}


def test_changes_of_c_are_those_of_its_tree(tmp_path):
    """Each is one that is named here; macros and sizes of arrays stay."""
    pytest.importorskip("tree_sitter_c", reason="pip install -c constraints.txt tree-sitter tree-sitter-c")
    from tools.blind import draw_c
    from tools.blind.draw import drawn

    found = draw_c.changes(C)
    assert {name: len(texts) for name, texts in C_CHANGES.items()} == dict(Counter(each.operator for each in found))
    for name, texts in C_CHANGES.items():
        for number, text in enumerate(texts):
            changed = draw_c.changed(C, name, number).decode()
            assert text in changed and text not in C.decode() and "[4]" in changed and "HIDDEN 3" in changed
    (tmp_path / "one.c").write_bytes(b"#include <stdint.h>\n" + C)
    (tmp_path / "two.c").write_bytes(b"/* Do not edit. */\n" + C)
    mutants = drawn(tmp_path, ["."], 7, 4)
    assert mutants == drawn(tmp_path, ["."], 7, 9)[:4] and len(mutants) == 4
    assert {mutant.file for mutant in mutants} == {"one.c"} and all(mutant.operator.startswith("c/") for mutant in mutants)


SCRIPT = """from cffi import FFI
ffi = FFI()
ffi.cdef("int f(int);")
ffi.set_source("_c", "int f(int);", sources=["c_ref/src/f.c"])
"""
C_TEST = """import importlib.util
def test_f():
    spec = importlib.util.spec_from_file_location("_c", "emu/engines/c_ref/_c.abi3.so")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert module.lib.f(3) == 6, "f.c"
"""


@pytest.mark.exhaustive  # a compiler, and pytest in a process of its own
def test_a_mutant_of_c_is_in_the_extension_alone(clone, monkeypatch):
    text = "int f(int x) { return x + x; }\n"
    files = {"c_ref/src/f.c": text, "c_ref/build.py": SCRIPT, "emu/engines/c_ref/x.py": "", "tests/double/test_double_near.py": C_TEST}
    for name, content in files.items():
        (clone / name).parent.mkdir(parents=True, exist_ok=True)
        (clone / name).write_text(content, encoding="utf-8")
    bench = Bench(clone, clone.parent / "copy", 3, 100)

    def outcome(changed: str) -> Verdict:
        monkeypatch.setattr(judge, "changed_source", lambda *_: changed)
        verdict = bench.judged(Mutant("c_ref/src/f.c", 1, "c/x", 0, "", "", ""))
        assert (bench.place / "c_ref/src/f.c").read_text(encoding="utf-8") == text
        return verdict

    name = "tests/double/test_double_near.py::test_f"
    assert outcome(text.replace("+", "*")) == Verdict("killed", name, 1)
    assert outcome(text.replace("x + x", "x + 3")) == Verdict("survived", "", 1)
    assert outcome(text.replace("x + x", "2 * x - 0")).outcome == "equivalent"
    assert outcome(text.replace("x + x", "*(int *)(__INTPTR_TYPE__)x")) == Verdict("killed", name, 1)
    with pytest.raises(EngineError, match="ends with 1"):
        outcome("int f(int x) {")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--count", "0"], "must be above 0"),
        (["--room", "nowhere"], "--room nowhere: no such folder"),
        (["--check", "--out", "/nowhere.json"], "record of blind mutants"),
        (["--cluster", "here"], "cluster 'here': write local:N"),
        (["--cluster", "local:0"], "cluster 'local:0': write local:N"),
    ],
)
def test_wrong_words_are_one_line(capsys, monkeypatch, words, said):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: name)
    assert main(words) == 2
    err = capsys.readouterr().err
    assert said in err and err.count("\n") == 1


class Workers:
    """A scheduler and two workers started in a clone, as one does on other machines."""

    def __init__(self, clone: Path, checkout: Path) -> None:
        self.clone, self.checkout, self.processes, self.killed = clone, checkout, [], 0
        self.start("scheduler", "--port", "0", "--scheduler-file", str(clone.parent / "scheduler.json"))
        for _ in range(2):
            self.start("worker", "--scheduler-file", str(clone.parent / "scheduler.json"), "--no-nanny", "--nthreads", "1")

    def start(self, program: str, *words: str) -> None:
        """Start a program of Dask; its local files lie beside the clone."""
        with (self.clone.parent / "dask.log").open("ab") as log:
            line = [sys.executable, "-P", "-m", f"distributed.cli.dask_{program}", "--host", "127.0.0.1", "--no-dashboard", *words]
            line += ["--local-directory", str(self.clone.parent)] * (program == "worker")
            environment = os.environ | {"PYTHONPATH": str(self.checkout)}
            self.processes.append(subprocess.Popen(line, cwd=self.clone, env=environment, stdout=log, stderr=log))

    @property
    def address(self) -> str:
        """Where the scheduler answers."""
        place = self.clone.parent / "scheduler.json"
        for _ in range(600):
            if place.exists() and place.stat().st_size:
                return str(json.loads(place.read_text(encoding="utf-8"))["address"])
            time.sleep(0.05)
        raise AssertionError((self.clone.parent / "dask.log").read_text(encoding="utf-8"))

    def end(self, first: int = 0, stop: int | None = None) -> None:
        """End processes as a power cut does."""
        for process in self.processes[first:stop]:
            process.send_signal(signal.SIGKILL)
            process.wait()


@pytest.fixture
def workers(clone, checkout, monkeypatch) -> Iterator[Workers]:
    """A scheduler and two workers in the small clone, whose tests need no plugin."""
    need_cluster()
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    made = Workers(clone, checkout)
    yield made
    made.end()


def run(clone: Path, name: str, *words: str) -> tuple[int, bytes]:
    """Judge the mutants of the small clone, here or elsewhere; return the exit code and the record."""
    out = clone.parent / name
    code = main(["--root", str(clone), "--room", "emu/engines/exact", "--count", "3", "--seed", "5", "--out", str(out), *words])
    return code, out.read_bytes() if out.exists() else b""


@pytest.mark.exhaustive  # pytest in processes of their own
def test_the_record_is_the_same_wherever_mutants_are_judged(workers, monkeypatch, capsys):
    pytest.importorskip("cosmic_ray", reason="the mutants are those of Cosmic Ray: pip install -c constraints.txt cosmic-ray")
    clone = workers.clone
    one = run(clone, "one.json")
    outcomes = [each["outcome"] for each in json.loads(one[1])["mutants"]]
    assert one[0] == 1 and len(outcomes) == 3 and set(outcomes) == {"killed", "survived"}
    assert run(clone, "two.json", "--jobs", "2") == run(clone, "local.json", "--cluster", "local:2") == one
    write, calls = command._write, []

    def disturbed(*given):
        """Kill a worker when the first verdict is there."""
        write(*given)
        if not calls:
            workers.end(1, 2)
        calls.append(given)

    monkeypatch.setattr(command, "_write", disturbed)
    assert run(clone, "many.json", "--cluster", workers.address) == one and len(calls) == 3
    capsys.readouterr()
    assert run(clone, "many.json", "--cluster", workers.address) == one and len(calls) == 3
    assert "3 mutants, 3 judged before" in capsys.readouterr().out
    (clone / "tests/double/conftest.py").write_text("other = 1\n", encoding="utf-8")  # the worker keeps its bench of the clone as it was
    monkeypatch.setattr(command, "state_of", lambda *_: "0" * 64)
    assert run(clone, "no.json", "--cluster", workers.address) == (2, b"")
    assert "of a worker has other files, packages or Python than" in one_line(capsys)


def one_line(capsys) -> str:
    err = capsys.readouterr().err
    assert err.count("\n") == 1, err
    return err


@pytest.mark.exhaustive  # Dask waits some seconds for a scheduler
def test_no_scheduler_is_something_missing(clone, capsys, monkeypatch):
    need_cluster()
    pytest.importorskip("cosmic_ray", reason="the mutants are those of Cosmic Ray: pip install -c constraints.txt cosmic-ray")
    monkeypatch.setattr(command, "done_by_cluster", lambda *given: cluster.done_by_cluster(*given, 0.1))
    assert run(clone, "no.json", "--cluster", "tcp://127.0.0.1:1") == (5, b"")
    assert "no scheduler answers at tcp://127.0.0.1:1" in one_line(capsys)


def test_a_bench_is_made_in_an_equal_clone_alone(clone, tmp_path, monkeypatch):
    (clone / "made.json").touch()
    state = state_of(clone, "made.json")
    (clone / "made.json").write_text("1", encoding="utf-8")
    assert state_of(clone, "made.json") == state != state_of(clone, "")
    monkeypatch.setattr(judge, "Bench", lambda root, *_: root)
    monkeypatch.chdir(tmp_path)
    try:
        assert bench(Clone(str(clone), "made.json", state), 1, 1.0, 0) == clone
        with pytest.raises(FileError, match="start it in an equal clone"):
            bench(Clone(str(tmp_path / "gone"), "made.json", state), 2, 1.0, 0)
        monkeypatch.chdir(clone)
        assert bench(Clone(str(tmp_path / "gone"), "made.json", state), 3, 1.0, 0) == clone
        (clone / FILE).write_text("0\n", encoding="utf-8")
        with pytest.raises(FileError, match="start it in an equal clone"):
            bench(Clone(str(clone), "made.json", state), 4, 1.0, 0)
    finally:
        bench.cache_clear()
    assert pickle.loads(pickle.dumps(Task(Clone("a", "b", "c"), 1, 2.0, Mutant(FILE, 1, "X", 0, "", "", "")))).mutant.file == FILE


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
