"""The rings: which steps there are, how they run beside each other, fail, go on and start anew; on small trees of their own."""

import json
import os
import subprocess
import sys
import time
import tomllib
from pathlib import Path

import pytest
from support.cluster import need_cluster

from tools.release.__main__ import main as release_main
from tools.rings import seconds
from tools.rings.__main__ import main
from tools.rings.run import counts_of
from tools.rings.steps import RINGS, all_steps, of_ring

ROOT = Path(__file__).parents[2]
TOY = """
[[step]]
name = "one"
ring = "change"
minutes = 1
command = 'echo 1 >>"$work/count"; echo first'

[[step]]
name = "two"
ring = "change"
minutes = 1
command = '''
echo half
test ! -e ../broken
echo second
'''
"""


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A clone with one file; the table of steps and the folder of the run lie beside it."""
    root = tmp_path / "clone"
    root.mkdir()
    (root / "file").write_text("text\n", encoding="utf-8")
    subprocess.run(["git", "init", "-q"], check=True, cwd=root)
    (tmp_path / "steps.toml").write_text(TOY, encoding="utf-8")
    return root


def run(tree: Path, *words: str) -> int:
    return main(["--root", str(tree), "--steps", str(tree.parent / "steps.toml"), "--work", str(tree.parent / "work"), *words])


def state(tree: Path) -> dict[str, dict[str, object]]:
    return json.loads((tree.parent / "work" / "state.json").read_text(encoding="utf-8"))["steps"]


def count(tree: Path) -> int:
    return len((tree.parent / "work" / "count").read_text(encoding="utf-8").split())


def gone(pid: int) -> bool:
    """Whether a process has ended; one that was killed may take a moment."""
    status = Path(f"/proc/{pid}/stat")
    for _ in range(200):
        try:
            if status.read_text(encoding="utf-8").rpartition(")")[2].split()[0] == "Z":
                return True
        except OSError:
            return True
        time.sleep(0.01)
    return False


def more(tree: Path, text: str) -> None:
    with (tree.parent / "steps.toml").open("a", encoding="utf-8") as stream:
        stream.write(text)


def test_all_steps_pass_and_are_not_run_again(tree, capsys):
    assert run(tree) == 0
    assert {name: (each["state"], each["said"]) for name, each in state(tree).items()} == {
        "one": ("passed", "first"),
        "two": ("passed", "second"),
    }
    assert run(tree) == 0 and count(tree) == 1
    assert "one: passed before" in capsys.readouterr().out
    assert run(tree, "--only", "one") == 0 and count(tree) == 2


def test_a_failed_step_leaves_its_log_and_is_what_runs_next(tree, capsys):
    (tree.parent / "broken").touch()
    assert run(tree) == 1
    assert "2 steps: 1 passed, 1 FAILED, 0 left out, 0 open" in (out := capsys.readouterr().out) and "NOT WHOLE" in out
    assert (tree.parent / "work" / "logs" / "two.log").read_text(encoding="utf-8") == "half\n"
    assert run(tree, "--only", "one") == 0
    (tree.parent / "broken").unlink()
    assert run(tree) == 0 and count(tree) == 2 and state(tree)["two"]["state"] == "passed"


@pytest.mark.parametrize("change", ["text", "new", "mode", "gone"])
def test_a_changed_tree_starts_anew(tree, capsys, change):
    assert run(tree) == 0
    if change == "gone":
        (tree / "file").unlink()
    elif change == "mode":
        (tree / "file").chmod(0o755)
    else:
        (tree / ("file" if change == "text" else "new")).write_text("other\n", encoding="utf-8")
    assert run(tree) == 0 and count(tree) == 2
    assert "all steps are open" in capsys.readouterr().out


def test_a_step_that_changes_the_tree_fails(tree):
    more(tree, "[[step]]\nname = 'three'\nring = 'change'\nminutes = 1\ncommand = 'echo x >>file'\n")
    assert run(tree) == 1
    assert state(tree)["three"] | {"seconds": 0} == {
        "state": "FAILED",
        "code": 1,
        "seconds": 0,
        "said": "the tree changed while it ran: file",
        "tests": {},
    }


def test_a_step_is_left_out_where_its_condition_fails(tree, capsys):
    more(tree, "[[step]]\nname = 'three'\nring = 'change'\nminutes = 1\ncommand = 'touch \"$work/ran\"'\nonly_if = 'test -e ../here'\n")
    assert run(tree) == 0
    assert state(tree)["three"]["state"] == "left out" and not (tree.parent / "work" / "ran").exists()
    (tree.parent / "here").touch()
    assert run(tree) == 0 and (tree.parent / "work" / "ran").exists()


def test_what_a_step_left_running_ends_with_it(tree):
    more(tree, "[[step]]\nname = 'three'\nring = 'change'\nminutes = 1\ncommand = 'sleep 600 & echo $! >\"$work/pid\"'\n")
    assert run(tree) == 0
    assert gone(int((tree.parent / "work" / "pid").read_text(encoding="utf-8")))


def test_the_list_runs_nothing(tree, capsys):
    assert run(tree, "--list") == 0
    shown = capsys.readouterr().out
    assert "one" in shown and "open" in shown and not (tree.parent / "work" / "count").exists()


def test_two_runs_in_one_folder_are_refused(tree, capsys):
    (tree.parent / "work").mkdir()
    holder = (
        "import fcntl, sys; file = open(sys.argv[1], 'w'); fcntl.flock(file, fcntl.LOCK_EX); print('held', flush=True); sys.stdin.read()"
    )
    command = [sys.executable, "-c", holder, str(tree.parent / "work" / "lock")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None and other.stdout.readline() == "held\n"
        assert run(tree) == 2
        other.communicate("")
    assert "another run is at work here" in capsys.readouterr().err
    assert run(tree) == 0


@pytest.mark.parametrize(
    ("table", "words", "said"),
    [
        (TOY, ["--only", "three"], "--only three: no such step"),
        (TOY, ["--root", "/"], "run in the clone"),
        (TOY, ["--steps", "/nowhere/steps.toml"], "cannot be read"),
        ("step = [", [], "steps.toml: "),
        ("", [], "no step"),
        (TOY, ["--cores", "0"], "--cores is above 0"),
        (TOY, ["--patience", "nan"], "--patience above 0"),
        (TOY.replace("change", "moon"), [], "ring moon: is none of change, full, gpu, release"),
        (TOY.replace('name = "one"', 'name = "one"\nneeds = ["two"]'), [], "step 1: two does not stand above"),
        (TOY.replace('name = "one"', 'name = "one"\nafter = ["one"]'), [], "step 1: one does not stand above"),
        (TOY.replace('name = "one"', 'name = "one"\nneeds = "two"'), [], "needs and after lists of names"),
        (TOY.replace('name = "one"', 'name = "one"\ninstalls = 1'), [], "installs true or false"),
        (TOY.replace('name = "one"', 'name = "one"\ncores = 0'), [], "minutes and cores are above 0"),
        (TOY.replace('name = "one"', 'name = "one"\nminute = 0'), [], "unknown key minute"),
        (TOY + TOY, [], "two steps are named one"),
        ("[[step]]\nname = 'one'\nring = 'change'\nminutes = 1\n", [], "missing key command"),
        ("[[step]]\nname = 'one'\nring = 'change'\nminutes = 1\ncommand = 'true'\nif = 'x'\n", [], "unknown key if"),
        ("[[step]]\nname = 'one'\nring = 'change'\nminutes = '1'\ncommand = 'true'\n", [], "minutes and cores are integers"),
        ("[[step]]\nname = '../one'\nring = 'change'\nminutes = 1\ncommand = 'true'\n", [], "a name has"),
        ("step = [1]", [], "is no table"),
    ],
)
def test_wrong_words_and_tables_are_one_line(tree, capsys, table, words, said):
    (tree.parent / "steps.toml").write_text(table, encoding="utf-8")
    assert run(tree, *words) == 2
    out, err = capsys.readouterr()
    assert out == "" and said in err and err.count("\n") == 1 and err.startswith("emu: tools.rings: ")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        '{"schema": "emu-rings-1", "digest": "x", "steps": {"one": {"state": "passed"}}}',
        '{"schema": "2", "digest": "", "steps": {}}',
    ],
)
def test_a_broken_record_is_refused(tree, capsys, text):
    (tree.parent / "work").mkdir()
    (tree.parent / "work" / "state.json").write_text(text, encoding="utf-8")
    assert run(tree) == 2
    assert "is no record of a run" in capsys.readouterr().err


def test_a_killed_run_keeps_what_had_passed(tree):
    waits = 'echo $$ >"$work/pid"; mv "$work/pid" "$work/reached"; sleep 600'
    more(tree, f"[[step]]\nname = 'three'\nring = 'change'\nminutes = 1\ncommand = 'if test -e ../wait; then {waits}; fi'\n")
    (tree.parent / "wait").touch()
    words = ["--root", str(tree), "--steps", str(tree.parent / "steps.toml"), "--work", str(tree.parent / "work")]
    code = f"import sys; sys.path.insert(0, {os.fspath(Path(__file__).parents[2])!r}); from tools.rings.__main__ import main; main({words})"
    with subprocess.Popen([sys.executable, "-P", "-c", code], stdout=subprocess.DEVNULL) as process:
        while not (tree.parent / "work" / "reached").exists():
            assert process.poll() is None
            time.sleep(0.01)
        process.terminate()
    assert process.returncode == 143 and gone(int((tree.parent / "work" / "reached").read_text(encoding="utf-8")))
    (tree.parent / "wait").unlink()
    assert list(state(tree)) == ["one", "two"]
    assert run(tree) == 0 and count(tree) == 1


def steps_named(**commands: str) -> str:
    return "".join(
        f"[[step]]\nname = '{name}'\nring = 'change'\nminutes = 1\ncommand = {json.dumps(text)}\n" for name, text in commands.items()
    )


MEETS = 'touch "$work/{0}"; for i in $(seq 500); do test -e "$work/{1}" && exit; sleep 0.02; done; exit 9'


@pytest.mark.parametrize(("cores", "code"), [(2, 0), (1, 1)])
def test_steps_of_one_core_run_beside_each_other_where_there_are_two(tree, cores, code):
    """Each waits for the other: alone on one core the first waits in vain."""
    waits = MEETS if cores == 2 else MEETS.replace("500", "2")
    (tree.parent / "steps.toml").write_text(steps_named(a=waits.format("a", "b"), b=waits.format("b", "a")), encoding="utf-8")
    assert run(tree, "--cores", str(cores)) == code


def test_a_step_of_all_cores_runs_alone_and_one_of_more_than_there_are_runs_too(tree):
    alone = 'mkdir "$work/busy"; sleep 0.2; rmdir "$work/busy"'
    table = steps_named(a=alone, b=alone, c=alone).replace("minutes = 1\n", "minutes = 1\ncores = 3\n")
    (tree.parent / "steps.toml").write_text(table, encoding="utf-8")
    assert run(tree, "--cores", "3") == 0 and run(tree, "--only", "a", "--only", "b", "--cores", "2") == 0


def test_what_needs_a_failed_step_stays_open_and_what_comes_after_it_runs(tree, capsys):
    table = steps_named(
        a='sleep 0.1; test -e ../mended; touch "$work/ended"', b="true", c='test -e "$work/ended" || touch "$work/early"', d="true"
    )
    table = (
        table.replace("name = 'b'", "name = 'b'\nneeds = ['a']")
        .replace("name = 'c'", "name = 'c'\nafter = ['a']")
        .replace("name = 'd'", "name = 'd'\nneeds = ['b']")
    )
    (tree.parent / "steps.toml").write_text(table, encoding="utf-8")
    assert run(tree) == 1
    out = capsys.readouterr().out
    assert "b: open in 0 s: needs a, which has not passed" in out and "d: open in 0 s: needs b, which has not passed" in out
    assert "4 steps: 1 passed, 1 FAILED, 0 left out, 2 open" in out and (tree.parent / "work" / "early").exists()
    assert run(tree, "--only", "d") == 1
    (tree.parent / "mended").touch()
    assert run(tree, "--only", "d") == 0 and {name: each["state"] for name, each in state(tree).items()} == dict.fromkeys("abcd", "passed")


def test_a_ring_has_the_steps_of_the_rings_inside_it_and_what_they_need(tree, capsys):
    table = steps_named(a="true", b="true", c="true", d="true")
    for name, ring in (("b", "full"), ("c", "gpu"), ("d", "release")):
        table = table.replace(f"name = '{name}'\nring = 'change'", f"name = '{name}'\nring = '{ring}'")
    table = table.replace("name = 'c'", "name = 'c'\nneeds = ['a']")
    (tree.parent / "steps.toml").write_text(table, encoding="utf-8")
    for ring, names in (("change", "a"), ("full", "ab"), ("gpu", "ac"), ("release", "abcd")):
        assert run(tree, "--ring", ring, "--list") == 0
        assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == [*names]


def test_the_summary_says_commit_tree_tests_and_whether_all_is_whole(tree, capsys):
    said = (
        "printf '..\\n2 passed, 1 skipped in 0.10s\\n===== 1 failed, 3 passed, 2 warnings in 61.00s (0:01:01) =====\\n7 passed suites\\n'"
    )
    (tree.parent / "steps.toml").write_text(steps_named(a=said, b="test -e ../mended"), encoding="utf-8")
    summary = tree.parent / "work" / "summary.json"

    def found() -> dict[str, object]:
        return json.loads(summary.read_text(encoding="utf-8"))

    assert run(tree, "--show") == 1
    assert "2 passed, 1 skipped in 0.10s" in capsys.readouterr().out.splitlines()
    assert found()["tests"] == {"failed": 1, "passed": 5, "skipped": 1} and found()["whole"] is False and found()["commit"] is None
    (tree.parent / "mended").touch()
    assert run(tree) == 0
    whole = found()
    assert whole["whole"] is True and [(each["name"], each["state"]) for each in whole["steps"]] == [("a", "passed"), ("b", "passed")]
    assert "whole" in summary.with_suffix(".txt").read_text(encoding="utf-8")
    (tree / "file").write_text("other\n", encoding="utf-8")
    assert run(tree, "--only", "b") == 0
    assert found()["whole"] is False and found()["digest"] != whole["digest"]


def test_closing_lines_of_pytest_are_counted_and_nothing_else():
    lines = [
        "3 passed in 1.00s",
        "= 1 error in 0.10s =",
        "2 errors in 0.1s",
        "no tests ran in 0.01s",
        "4 passed suites in 1s",
        "5 deselected in 0.03s",
    ]
    assert counts_of(lines) == {"deselected": 5, "error": 3, "passed": 3}


def test_a_step_that_takes_too_long_is_stopped(tree, monkeypatch):
    monkeypatch.setattr("tools.rings.run.LEAST", -1)
    (tree.parent / "steps.toml").write_text(steps_named(a="sleep 600"), encoding="utf-8")
    assert run(tree, "--patience", "0.001") == 1 and state(tree)["a"]["code"] == 124 and "stopped after" in str(state(tree)["a"]["said"])


def test_the_runner_needs_no_library():
    """Before the first step has made an environment there is Python alone."""
    code = """
import sys
sys.path[:] = ["."] + [each for each in sys.path if "site-packages" not in each]
from tools.release import __main__
files = [name.partition(".")[0] for name, each in sys.modules.items() if getattr(each, "__file__", None)]
print(sorted({*files} - sys.stdlib_module_names))
"""
    done = subprocess.run([sys.executable, "-I", "-S", "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert (done.stdout.strip(), done.stderr) == ("['tools']", "")


def test_the_scripts_of_ci_and_the_release_run_their_rings(checkout, tree, capsys):
    for name, ring in (("run", "change"), ("full", "full")):
        assert f'/ring" {ring} "$@"' in (checkout / ".ci" / name).read_text(encoding="utf-8")
    assert 'tools.rings --ring "$ring"' in (checkout / ".ci" / "ring").read_text(encoding="utf-8")
    more(tree, "[[step]]\nname = 'three'\nring = 'release'\nminutes = 1\ncommand = 'true'\n")
    words = ["--root", str(tree), "--steps", str(tree.parent / "steps.toml"), "--work", str(tree.parent / "work")]
    assert release_main(words) == 0 and [*state(tree)] == ["one", "two", "three"]
    assert release_main([*words, "--only", "four"]) == 2 and capsys.readouterr().err.startswith("emu: tools.release: ")


def test_minutes_of_the_change_ring_keep_their_bound():
    """20 minutes on two cores after installing, 4 of one core for smoke: by the figures of the table."""
    steps = [step for step in of_ring(all_steps(), "change") if not step.installs]
    assert sum(step.minutes * step.cores for step in steps) <= 2 * 20
    assert {step.cores for step in steps} == {1, 2}
    assert 3 <= sum(step.minutes for step in steps if step.name.startswith("smoke-")) <= 4


def test_each_ring_has_steps_and_each_step_is_of_the_ring_of_what_it_needs():
    steps = {step.name: step for step in all_steps()}
    assert {step.ring for step in steps.values()} == {*RINGS}
    order = ["change", "full", "gpu", "release"]
    assert [step.name for step in steps.values() for name in step.needs if order.index(steps[name].ring) > order.index(step.ring)] == []


def test_the_table_has_what_contributing_asks_for_before_a_release(checkout):
    """Each command of a row of "What runs when" that says "before a release" is in a step, with all its words."""
    rows = (checkout / "CONTRIBUTING.md").read_text(encoding="utf-8").partition("## What runs when")[2].partition("\n## ")[0].splitlines()
    asked = [cells for row in rows if row.startswith("| ") and "before a release" in (cells := row.strip("| ").split(" | "))[-1]]
    assert {cells[0] for cells in asked} == {"everything", "mutants", "blind", "sweeps"}
    steps = [{*step.command.split()} for step in all_steps()]
    named = [command for cells in asked for command in cells[1].split("`")[1::2] if not command.startswith("--")]
    assert len(named) == 5
    assert [command for command in named if not any({*command.split()} <= words for words in steps)] == []


def test_each_extra_is_tried(checkout):
    extras = tomllib.loads((checkout / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    (step,) = [step for step in all_steps() if step.name == "extras"]
    assert {*step.command.partition("for extra in ")[2].partition(";")[0].split()} == {*extras} - {"torch", "foreign"}


def test_seconds_of_slow_tests_are_kept(tmp_path, capsys):
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "test_a.py").write_text("def test_old(): ...\nclass A:\n    def test_in(self): ...\n", encoding="utf-8")
    known = {
        "tests/test_a.py::test_old[1]": 2.0,
        "tests/test_a.py::test_gone": 3.0,
        "tests/test_a.py::A::test_in": 4.0,
        "tests/test_b.py::test_x": 5.0,
    }
    (tmp_path / "tests" / "seconds.json").write_text(json.dumps(known), encoding="utf-8")
    rows = [("tests/test_a.py::test_old[1]", 0.4), ("tests/test_a.py::test_old[2]", 1.25), ("tests/test_a.py::A::test_in", 6.5)]
    (tmp_path / "one.jsonl").write_text(
        "".join(json.dumps({"test": test, "seconds": took}) + "\n" for test, took in rows), encoding="utf-8"
    )
    assert seconds.main([str(tmp_path / "one.jsonl"), "--root", str(tmp_path)]) == 0
    kept = json.loads((tmp_path / "tests" / "seconds.json").read_text(encoding="utf-8"))
    assert kept == {"tests/test_a.py::A::test_in": 6.5, "tests/test_a.py::test_old[2]": 1.25}
    capsys.readouterr()
    for text in ("{}", "no", "[1]"):
        (tmp_path / "bad.jsonl").write_text(text, encoding="utf-8")
        assert seconds.main([str(tmp_path / "bad.jsonl"), "--root", str(tmp_path)]) == 2
        err = capsys.readouterr().err
        assert err.startswith("emu: tools.rings.seconds: ") and err.count("\n") == 1
    assert json.loads((tmp_path / "tests" / "seconds.json").read_text(encoding="utf-8")) == kept


def test_commands_are_told_where_their_tasks_run(tree, monkeypatch, capsys):
    (tree.parent / "steps.toml").write_text(
        "[[step]]\nname = 'one'\nring = 'change'\nminutes = 1\ncommand = 'echo $workers'\n", encoding="utf-8"
    )
    assert run(tree) == 0 and state(tree)["one"]["said"] == f"--jobs {os.cpu_count()}"
    assert run(tree, "--only", "one", "--cluster", "local:3") == 0 and state(tree)["one"]["said"] == "--cluster local:3"
    capsys.readouterr()
    for address in ("here", "tcp://127.0.0.1:port", ""):
        assert run(tree, "--cluster", address) == 2
        assert f"cluster {address!r}: write local:N, or the address of a scheduler" in capsys.readouterr().err


@pytest.mark.cases(0, 0)
def test_no_step_begins_where_no_scheduler_answers(tree, capsys):
    need_cluster()
    assert run(tree, "--cluster", "tcp://127.0.0.1:1") == 5
    err = capsys.readouterr().err
    assert "cluster tcp://127.0.0.1:1: no scheduler listens there" in err and err.count("\n") == 1
    assert not (tree.parent / "work" / "count").exists()
