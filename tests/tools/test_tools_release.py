"""The release command: which steps there are, how they run, fail, go on and start anew; on small trees of its own."""

import json
import os
import subprocess
import sys
import time
import tomllib
from pathlib import Path

import pytest
from support.cluster import need_cluster

from tools.release import __main__ as command
from tools.release.__main__ import main
from tools.release.steps import all_steps, ci_steps

TOY = """
[[step]]
name = "one"
minutes = 1
command = 'echo 1 >>"$work/count"; echo first'

[[step]]
name = "two"
minutes = 1
command = '''
echo half
test ! -e ../broken
echo second
'''
"""


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A clone with one file; the table of steps and the folder of the release lie beside it."""
    root = tmp_path / "clone"
    root.mkdir()
    (root / "file").write_text("text\n", encoding="utf-8")
    subprocess.run(["git", "init", "-q"], check=True, cwd=root)
    (tmp_path / "steps.toml").write_text(TOY, encoding="utf-8")
    return root


def release(tree: Path, *words: str) -> int:
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
    assert release(tree) == 0
    assert {name: (each["state"], each["said"]) for name, each in state(tree).items()} == {
        "one": ("passed", "first"),
        "two": ("passed", "second"),
    }
    assert release(tree) == 0 and count(tree) == 1
    assert "one: passed before" in capsys.readouterr().out
    assert release(tree, "--only", "one") == 0 and count(tree) == 2


def test_a_failed_step_leaves_its_log_and_is_what_runs_next(tree, capsys):
    (tree.parent / "broken").touch()
    assert release(tree) == 1
    assert "2 steps: 1 passed, 1 FAILED, 0 left out, 0 open" in capsys.readouterr().out
    assert (tree.parent / "work" / "logs" / "two.log").read_text(encoding="utf-8") == "half\n"
    assert release(tree, "--only", "one") == 0
    (tree.parent / "broken").unlink()
    assert release(tree) == 0 and count(tree) == 2 and state(tree)["two"]["state"] == "passed"


@pytest.mark.parametrize("change", ["text", "new", "mode", "gone"])
def test_a_changed_tree_starts_anew(tree, capsys, change):
    assert release(tree) == 0
    if change == "gone":
        (tree / "file").unlink()
    elif change == "mode":
        (tree / "file").chmod(0o755)
    else:
        (tree / ("file" if change == "text" else "new")).write_text("other\n", encoding="utf-8")
    assert release(tree) == 0 and count(tree) == 2
    assert "all steps are open" in capsys.readouterr().out


def test_a_step_that_changes_the_tree_fails(tree):
    more(tree, "[[step]]\nname = 'three'\nminutes = 1\ncommand = 'echo x >>file'\n")
    assert release(tree) == 1
    assert state(tree)["three"] | {"seconds": 0} == {
        "state": "FAILED",
        "code": 1,
        "seconds": 0,
        "said": "the tree changed while it ran: file",
    }


def test_a_step_is_left_out_where_its_condition_fails(tree, capsys):
    more(tree, "[[step]]\nname = 'three'\nminutes = 1\ncommand = 'touch \"$work/ran\"'\nonly_if = 'test -e ../here'\n")
    assert release(tree) == 0
    assert state(tree)["three"]["state"] == "left out" and not (tree.parent / "work" / "ran").exists()
    (tree.parent / "here").touch()
    assert release(tree) == 0 and (tree.parent / "work" / "ran").exists()


def test_what_a_step_left_running_ends_with_it(tree):
    more(tree, "[[step]]\nname = 'three'\nminutes = 1\ncommand = 'sleep 600 & echo $! >\"$work/pid\"'\n")
    assert release(tree) == 0
    assert gone(int((tree.parent / "work" / "pid").read_text(encoding="utf-8")))


def test_the_list_runs_nothing(tree, capsys):
    assert release(tree, "--list") == 0
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
        assert release(tree) == 2
        other.communicate("")
    assert "another run is at work here" in capsys.readouterr().err
    assert release(tree) == 0


@pytest.mark.parametrize(
    ("table", "words", "said"),
    [
        (TOY, ["--only", "three"], "--only three: no such step"),
        (TOY, ["--root", "/"], "run in the clone"),
        (TOY, ["--steps", "/nowhere/steps.toml"], "cannot be read"),
        ("step = [", [], "steps.toml: "),
        ("", [], "no step"),
        (TOY + TOY, [], "two steps are named one"),
        ("[[step]]\nname = 'one'\nminutes = 1\n", [], "missing key command"),
        ("[[step]]\nname = 'one'\nminutes = 1\ncommand = 'true'\nif = 'x'\n", [], "unknown key if"),
        ("[[step]]\nname = 'one'\nminutes = '1'\ncommand = 'true'\n", [], "minutes is an integer"),
        ("[[step]]\nname = '../one'\nminutes = 1\ncommand = 'true'\n", [], "a name has"),
        ("step = [1]", [], "is no table"),
    ],
)
def test_wrong_words_and_tables_are_one_line(tree, capsys, table, words, said):
    (tree.parent / "steps.toml").write_text(table, encoding="utf-8")
    assert release(tree, *words) == 2
    out, err = capsys.readouterr()
    assert out == "" and said in err and err.count("\n") == 1 and err.startswith("emu: tools.release: ")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        '{"schema": "emu-release-1", "digest": "x", "steps": {"one": {"state": "passed"}}}',
        '{"schema": "2", "digest": "", "steps": {}}',
    ],
)
def test_a_broken_record_is_refused(tree, capsys, text):
    (tree.parent / "work").mkdir()
    (tree.parent / "work" / "state.json").write_text(text, encoding="utf-8")
    assert release(tree) == 2
    assert "is no record of a release" in capsys.readouterr().err


def test_a_killed_run_keeps_what_had_passed(tree):
    waits = 'echo $$ >"$work/pid"; mv "$work/pid" "$work/reached"; sleep 600'
    more(tree, f"[[step]]\nname = 'three'\nminutes = 1\ncommand = 'if test -e ../wait; then {waits}; fi'\n")
    (tree.parent / "wait").touch()
    words = ["--root", str(tree), "--steps", str(tree.parent / "steps.toml"), "--work", str(tree.parent / "work")]
    code = (
        f"import sys; sys.path.insert(0, {os.fspath(Path(__file__).parents[2])!r}); from tools.release.__main__ import main; main({words})"
    )
    with subprocess.Popen([sys.executable, "-P", "-c", code], stdout=subprocess.DEVNULL) as process:
        while not (tree.parent / "work" / "reached").exists():
            assert process.poll() is None
            time.sleep(0.01)
        process.terminate()
    assert process.returncode == 143 and gone(int((tree.parent / "work" / "reached").read_text(encoding="utf-8")))
    (tree.parent / "wait").unlink()
    assert list(state(tree)) == ["one", "two"]
    assert release(tree) == 0 and count(tree) == 1


def test_steps_of_ci_are_read_as_they_stand(checkout):
    text = (checkout / ".ci" / "run").read_text(encoding="utf-8")
    found = ci_steps(text)
    assert len(found) == sum(line.lstrip().startswith("step ") for line in text.splitlines()) > 10
    commands = {step.name: step.command for step in found}
    assert commands["tests"] == 'env VENV="$work/venv" scripts/test --durations=10'
    assert commands["coverage"] == "scripts/c-coverage --check"
    assert not [command for command in commands.values() if any(word in command for word in "|&;<>")]


def test_the_table_has_what_contributing_asks_for_before_a_release(checkout):
    """Each command of a row of "What runs when" that says "before a release" is in a step, with all its words."""
    rows = (checkout / "CONTRIBUTING.md").read_text(encoding="utf-8").partition("## What runs when")[2].partition("\n## ")[0].splitlines()
    asked = [cells for row in rows if row.startswith("| ") and "before a release" in (cells := row.strip("| ").split(" | "))[-1]]
    assert {cells[0] for cells in asked} == {"everything", "mutants", "blind", "sweeps"}
    steps = [{*step.command.split()} for step in all_steps(checkout)]
    named = [command for cells in asked for command in cells[1].split("`")[1::2] if not command.startswith("--")]
    assert len(named) == 5
    assert [command for command in named if not any({*command.split()} <= words for words in steps)] == []


def test_each_extra_is_tried(checkout):
    extras = tomllib.loads((checkout / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    (step,) = [step for step in all_steps(checkout) if step.name == "extras"]
    assert {*step.command.partition("for extra in ")[2].partition(";")[0].split()} == {*extras} - {"torch", "foreign"}


def test_commands_are_told_where_their_tasks_run(tree, monkeypatch, capsys):
    (tree.parent / "steps.toml").write_text("[[step]]\nname = 'one'\nminutes = 1\ncommand = 'echo $workers'\n", encoding="utf-8")
    assert release(tree) == 0 and state(tree)["one"]["said"] == f"--jobs {os.cpu_count()}"
    assert release(tree, "--only", "one", "--cluster", "local:3") == 0 and state(tree)["one"]["said"] == "--cluster local:3"
    capsys.readouterr()
    for address in ("here", "tcp://127.0.0.1:port", ""):
        assert release(tree, "--cluster", address) == 2
        assert f"cluster {address!r}: write local:N, or the address of a scheduler" in capsys.readouterr().err


@pytest.mark.cases(0, 0)  # Dask waits some seconds for a scheduler
def test_no_step_begins_where_no_scheduler_answers(tree, monkeypatch, capsys):
    need_cluster()
    monkeypatch.setattr(command, "ANSWER", 0.1)
    assert release(tree, "--cluster", "tcp://127.0.0.1:1") == 5
    err = capsys.readouterr().err
    assert "no scheduler answers at tcp://127.0.0.1:1" in err and err.count("\n") == 1
    assert not (tree.parent / "work" / "count").exists()
