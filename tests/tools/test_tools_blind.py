"""Blind mutation: what is drawn, how a mutant is judged, and what the kept record says; on a small clone of its own."""

import json
import os
import pickle
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from support.cluster import need_cluster

from emu.base.errors import EngineError, FileError
from tools.blind import __main__ as command
from tools.blind import judge
from tools.blind.__main__ import DEFAULT, RECORD, counts, main
from tools.blind.draw import Mutant
from tools.blind.judge import Bench, Clone, Task, Verdict, bench, state_of
from tools.blind.reach import Block, Reached, in_turn, marked_c, marked_python, recorded

DOUBLE = "def double(x: int | None) -> int:\n    return 0 if x is None else x + x\n"
FILE = "emu/engines/exact/double.py"
NEAR = "tests/double/test_double_near.py"
TESTS = {
    ".gitignore": "out/\n__pycache__/\n",
    NEAR: "from emu.engines.exact.double import double\ndef test_three():\n    assert double(3) == 6\n",
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


def judged(clone: Path, monkeypatch: pytest.MonkeyPatch, text: str, names: Sequence[str] = ("three",)) -> tuple[Bench, Verdict]:
    monkeypatch.setattr(judge, "changed_source", lambda source, operator, occurrence: text)
    bench = Bench(clone, clone.parent / "copy")
    return bench, bench.judged(Mutant(FILE, 2, "X", 0, "", "", ""), [(f"{NEAR}::test_{name}", 0.1) for name in names])


@pytest.mark.exhaustive  # pytest in a process of its own
def test_the_first_failing_test_kills_and_the_copy_is_right_again(clone, monkeypatch):
    bench, verdict = judged(clone, monkeypatch, DOUBLE.replace("x + x", "x * x"))
    assert verdict == Verdict("killed", "tests/double/test_double_near.py::test_three", 1)
    assert (bench.place / FILE).read_text(encoding="utf-8") == (clone / FILE).read_text(encoding="utf-8") == DOUBLE
    assert bench.sound == {verdict.killer}


MARKED = '''"""Text."""
from __future__ import annotations
def f(x):
    """Text."""
    if x < 0:
        return 0
    elif x == 1:
        pass
    for _ in range(x - 1):
        x = (lambda: x + 1)()
    else:
        x += 0
    try:
        return 6 // x
    except ZeroDivisionError:
        return 7
class C:
    y = 8
    def g(self):
        return [8 for _ in (1,)]
'''
REACHED = {"f(-1)": {4, 6}, "f(1)": {4, 7, 8, 12, 14}, "f(2)": {4, 7, 10, 12, 14}, "f(0)": {4, 7, 12, 14, 16}, "C().g()": {20}, "C": set()}


def test_marks_of_python_say_which_blocks_were_reached(monkeypatch):
    """The lines of each block that is entered, nothing else; the program stays what it was."""
    blocks: list[Block] = []
    code = compile(marked_python(MARKED, "f.py", blocks), "f.py", "exec", dont_inherit=True)
    monkeypatch.setattr("builtins.__emu_reached__", bytearray(len(blocks)), raising=False)
    names, right = {}, {}
    exec(code, names)
    exec(MARKED, right)
    assert names["f"].__doc__ == "Text." and names["__doc__"] == "Text." and [block.first for block in blocks if block.is_part] == [10]
    for call, lines in REACHED.items():
        hits = bytearray(len(blocks))
        monkeypatch.setattr("builtins.__emu_reached__", hits)
        found = eval(call, names)
        assert call == "C" or found == eval(call, right)
        assert {block.first for block, hit in zip(blocks, hits, strict=True) if hit} == lines, call


def test_marks_of_c_are_in_every_function():
    pytest.importorskip("tree_sitter_c", reason="pip install -c constraints.txt tree-sitter tree-sitter-c")
    blocks: list[Block] = []
    text = marked_c(C + b"static int g(void)\n{\n    return 1;\n}\n", "f.c", blocks).decode()
    assert sorted(blocks) == [Block("f.c", 2, 7, False), Block("f.c", 8, 11, False)]
    numbers = {block.first: number for number, block in enumerate(blocks)}
    assert f"int32_t a) {{ emu_reached[{numbers[2]}] = 1; \n" in text and f"{{ emu_reached[{numbers[8]}] = 1; \n    return 1" in text
    assert text.count("emu_reached[") == 2


def test_the_innermost_block_chooses_the_tests_the_fastest_first(tmp_path):
    blocks = [Block("f.py", 1, 9, False), Block("f.py", 3, 5, False), Block("f.py", 4, 4, True), Block("g.py", 1, 9, False)]
    tests = {
        "tests/a.py::outer": (1, 0b1),
        "tests/a.py::inner": (3, 0b11),
        "tests/b.py::part": (5, 0b111),
        "tests/b.py::quick": (2, 0b1011),
    }
    (tmp_path / "blocks.json").write_text(json.dumps(blocks), encoding="utf-8")
    lines = [json.dumps({"test": name, "seconds": seconds, "reached": f"{bits:x}"}) for name, (seconds, bits) in tests.items()]
    (tmp_path / "1.jsonl").write_text("\n".join(lines[:2]) + "\n", encoding="utf-8")
    (tmp_path / "2.jsonl").write_text("\n".join([*lines[2:], lines[0][:20]]), encoding="utf-8")  # it was stopped there
    reached = Reached(tmp_path)
    assert reached.tests_of("f.py", 1) == ["tests/a.py::outer", "tests/b.py::quick", "tests/a.py::inner", "tests/b.py::part"]
    assert reached.tests_of("f.py", 3) == ["tests/b.py::quick", "tests/a.py::inner", "tests/b.py::part"]
    assert reached.tests_of("f.py", 4) == ["tests/b.py::part", "tests/b.py::quick", "tests/a.py::inner"]
    with (tmp_path / "3.jsonl").open("w", encoding="utf-8") as file:  # cases of one test function take turns with the others
        for number in (1, 2, 3):
            file.write(json.dumps({"test": f"tests/c.py::case[{number}]", "seconds": number / 8, "reached": "80"}) + "\n")
        file.write(json.dumps({"test": "tests/c.py::alone", "seconds": 9, "reached": "80"}) + "\n")
    (tmp_path / "blocks.json").write_text(
        json.dumps([*blocks, *[Block("other.py", 1, 2, False)] * 3, Block("h.py", 1, 2, False)]), encoding="utf-8"
    )
    assert [test.rpartition("::")[2] for test in Reached(tmp_path).tests_of("h.py", 1)] == ["case[1]", "alone", "case[2]", "case[3]"]
    assert reached.tests_of("f.py", 10) == [] and reached.tests_of("g.py", 9) == ["tests/b.py::quick"]
    assert reached.of_files(["tests/b.py", "tests/a.py"]) == [
        "tests/b.py::quick",
        "tests/b.py::part",
        "tests/a.py::outer",
        "tests/a.py::inner",
    ]
    order = reached.tests_of("f.py", 1)
    assert reached.within(order, 3, 3) == (("tests/a.py::outer", 1), ("tests/b.py::quick", 2))
    assert reached.within(order, 1, 9) == reached.within(order, 9, 0.5) == (("tests/a.py::outer", 1),)


def test_tests_of_the_nearest_files_take_turns_with_the_fastest():
    assert in_turn(["a::1", "b::1", "b::2", "c::1", "a::2", "b::3"], ["a", "c"]) == ["a::1", "b::1", "c::1", "b::2", "a::2", "b::3"]
    assert in_turn(["b::1", "b::2"], ["a"]) == ["b::1", "b::2"] and in_turn([], ["a"]) == []


SEEN = """import os, subprocess, sys, threading
import pytest
from emu.engines.exact.double import double, first, second, third, fourth
@pytest.fixture(scope="module")
def made():
    return first()
def test_one(made):
    pass
def test_two(made):
    thread = threading.Thread(target=second)
    thread.start()
    thread.join()
def test_three():
    subprocess.run([sys.executable, "-c", "from emu.engines.exact.double import third; third()"], check=True)
    if not os.fork():
        fourth()
        os._exit(0)
    os.wait()
def test_fails():
    first()
    assert 0
"""


@pytest.mark.exhaustive  # pytest in a process of its own
def test_what_a_test_reaches_is_seen_in_threads_forks_programs_and_fixtures(clone, monkeypatch):
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    names = ("first", "second", "third", "fourth")
    (clone / FILE).write_text(DOUBLE + "".join(f"def {name}():\n    return 1\n" for name in names), encoding="utf-8")
    (clone / NEAR).write_text(SEEN, encoding="utf-8")
    reached = recorded(clone, clone / "out" / "folder", ["emu/engines/exact"], 1, False)
    found = [[test.partition("::test_")[2] for test in reached.tests_of(FILE, line)] for line in (4, 6, 8, 10)]
    assert [sorted(each) for each in found] == [["one", "two"], ["two"], ["three"], ["three"]]
    assert not reached.tests_of(FILE, 2) and not list((clone / "out" / "folder").glob("hits.*"))
    (clone / NEAR).unlink()
    assert recorded(clone, clone / "out" / "folder", ["emu/engines/exact"], 1, False).tests == reached.tests  # from the folder


@pytest.mark.exhaustive  # pytest in a process of its own
def test_what_no_test_sees_survives(clone, monkeypatch):
    assert judged(clone, monkeypatch, DOUBLE.replace("0 if", "1 if"))[1] == Verdict("survived", "", 1)


@pytest.mark.exhaustive  # pytest in a process of its own
def test_what_cannot_be_imported_is_killed_by_the_import(clone, monkeypatch):
    assert judged(clone, monkeypatch, "raise RuntimeError\n")[1].outcome == "killed"


@pytest.mark.exhaustive  # pytest in a process of its own
def test_what_does_not_end_is_open(clone, monkeypatch):
    monkeypatch.setattr(judge, "_START", -0.5)  # no time at all, however slow the machine was when the tests were timed
    monkeypatch.setattr(judge, "_SLOWER", 0)
    assert judged(clone, monkeypatch, DOUBLE)[1] == Verdict("open", "", 1)


@pytest.mark.exhaustive  # pytest in a process of its own
def test_a_test_that_fails_without_a_change_judges_nothing(clone, monkeypatch):
    broken = "from emu.engines.exact.double import double\ndef test_three():\n    assert 0\n"
    (clone / NEAR).write_text(broken, encoding="utf-8")
    assert judged(clone, monkeypatch, DOUBLE.replace("0 if", "1 if"))[1].outcome == "survived"
    (clone / NEAR).write_text(broken + "def test_four():\n    assert double(None) == 0\n", encoding="utf-8")
    assert judged(clone, monkeypatch, DOUBLE.replace("0 if", "1 if"), ("three", "four"))[1] == Verdict("killed", f"{NEAR}::test_four", 2)


def test_what_no_test_is_known_for_survives(clone):
    assert Bench(clone, clone.parent / "copy").judged(Mutant(FILE, 2, "X", 0, "", "", ""), []) == Verdict("survived", "", 0)


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
    files = {"c_ref/src/f.c": text, "c_ref/build.py": SCRIPT, "emu/engines/c_ref/x.py": "", NEAR: C_TEST}
    for name, content in files.items():
        (clone / name).parent.mkdir(parents=True, exist_ok=True)
        (clone / name).write_text(content, encoding="utf-8")
    bench = Bench(clone, clone.parent / "copy")
    name = f"{NEAR}::test_f"

    def outcome(changed: str) -> Verdict:
        monkeypatch.setattr(judge, "changed_source", lambda *_: changed)
        verdict = bench.judged(Mutant("c_ref/src/f.c", 1, "c/x", 0, "", "", ""), [(name, 0.1)])
        assert (bench.place / "c_ref/src/f.c").read_text(encoding="utf-8") == text
        return verdict

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
    code = main(["--root", str(clone), "--room", "emu/engines/exact", "--count", "2", "--seed", "5", "--out", str(out), *words])
    return code, out.read_bytes() if out.exists() else b""


@pytest.mark.exhaustive  # pytest in processes of their own
def test_the_record_is_the_same_wherever_mutants_are_judged(workers, monkeypatch, capsys):
    pytest.importorskip("cosmic_ray", reason="the mutants are those of Cosmic Ray: pip install -c constraints.txt cosmic-ray")
    clone = workers.clone
    one = run(clone, "one.json")
    outcomes = [each["outcome"] for each in json.loads(one[1])["mutants"]]
    assert one[0] == 1 and sorted(outcomes) == ["killed", "survived"]
    assert run(clone, "two.json", "--jobs", "2") == one
    write, calls = command._write, []

    def disturbed(*given):
        """Kill a worker when the first verdict is there."""
        write(*given)
        if not calls:
            workers.end(1, 2)
        calls.append(given)

    monkeypatch.setattr(command, "_write", disturbed)
    assert run(clone, "many.json", "--cluster", workers.address) == one and len(calls) == 2
    capsys.readouterr()
    assert run(clone, "many.json", "--cluster", workers.address) == one and len(calls) == 2
    assert "2 mutants, 2 judged before" in capsys.readouterr().out
    (clone / "tests/double/conftest.py").write_text("other = 1\n", encoding="utf-8")  # the worker keeps its bench of the clone as it was
    monkeypatch.setattr(command, "state_of", lambda *_: "0" * 64)
    assert run(clone, "no.json", "--cluster", workers.address) == (2, b"")
    assert "of a worker has other files, packages or Python than" in one_line(capsys)


def one_line(capsys) -> str:
    err = capsys.readouterr().err
    assert err.count("\n") == 1, err
    return err


@pytest.mark.exhaustive  # the clone is made
def test_no_scheduler_is_something_missing(clone, capsys):
    need_cluster()
    pytest.importorskip("cosmic_ray", reason="the mutants are those of Cosmic Ray: pip install -c constraints.txt cosmic-ray")
    assert run(clone, "no.json", "--cluster", "tcp://127.0.0.1:1") == (5, b"")
    assert "cluster tcp://127.0.0.1:1: no scheduler listens there" in one_line(capsys)


def test_a_bench_is_made_in_an_equal_clone_alone(clone, tmp_path, monkeypatch):
    (clone / "made.json").touch()
    state = state_of(clone, "made.json")
    (clone / "made.json").write_text("1", encoding="utf-8")
    assert state_of(clone, "made.json") == state != state_of(clone, "")
    monkeypatch.setattr(judge, "Bench", lambda root, _: root)
    monkeypatch.chdir(tmp_path)
    try:
        assert bench(Clone(str(clone), "made.json", state), 1) == clone
        with pytest.raises(FileError, match="start it in an equal clone"):
            bench(Clone(str(tmp_path / "gone"), "made.json", state), 2)
        monkeypatch.chdir(clone)
        assert bench(Clone(str(tmp_path / "gone"), "made.json", state), 3) == clone
        (clone / FILE).write_text("0\n", encoding="utf-8")
        with pytest.raises(FileError, match="start it in an equal clone"):
            bench(Clone(str(clone), "made.json", state), 4)
    finally:
        bench.cache_clear()
    assert pickle.loads(pickle.dumps(Task(Clone("a", "b", "c"), (), Mutant(FILE, 1, "X", 0, "", "", "")))).mutant.file == FILE


def test_the_record_keeps_its_counts_and_says_what_changed(checkout, tmp_path, capsys):
    data = RECORD.read(checkout / DEFAULT)
    assert data["counts"] == counts(data["mutants"]) and sum(data["counts"].values()) == len(data["mutants"]) > 0
    assert all(each["note"] for each in data["mutants"] if each["outcome"] not in ("killed", "open"))  # why nobody has to look again
    copy = tmp_path / "record.json"
    dead = next(each for each in data["mutants"] if each["outcome"] == "killed")
    RECORD.write(copy, data | {"mutants": [dead | {"outcome": "survived"}]})
    with pytest.raises(FileError, match="outcome survived"):
        RECORD.read(copy)
    RECORD.write(copy, data | {"counts": data["counts"] | {"killed": 0}})
    with pytest.raises(FileError, match="counts"):
        RECORD.read(copy)
    first = data["mutants"][0] | {"sha256": "0" * 64}
    copy.write_text(json.dumps(data | {"mutants": [first], "counts": counts([first])}), encoding="utf-8")
    assert main(["--check", "--out", str(copy), "--root", str(checkout)]) == 1
    assert f"changed since: {first['file']}" in capsys.readouterr().out
