"""Under --json a refusal is one JSON object on stdout, its line stays on stderr, and the exit code is what it was."""

import json

import click
import pytest
from support import writing

from emu.cli.main import run
from emu.cli.settings import InputPath

EVERY = {" ".join(name): command for name, command in writing.EVERY}
NEEDY = [name for name, command in EVERY.items() if any(isinstance(param, click.Argument) and param.required for param in command.params)]


def refused(capsys, *words):
    """What a refused command prints on stdout, read as JSON; the other properties of a refusal are held on the way."""
    plain = run([word for word in words if word != "--json"])
    without = capsys.readouterr()
    code = run(list(words))
    found = capsys.readouterr()
    assert code == plain != 0
    assert found.err == without.err and found.err.startswith("emu: ") and found.err.count("\n") == 1
    told = json.loads(found.out)
    assert set(told) == {"error", "exit"} and told["exit"] == code
    assert found.err == f"emu: {told['error']}\n"
    return told


@pytest.mark.parametrize("name", EVERY)
def test_a_wrong_option_is_told_as_json(capsys, name):
    wanted = "Missing argument" if name in ("convert", "operate") else "No such option"  # these take -1.5 and the like for a number
    assert wanted in refused(capsys, *name.split(), "--nonsense", "--json")["error"]
    assert wanted in refused(capsys, *name.split(), "--json", "--nonsense")["error"]


@pytest.mark.parametrize("name", NEEDY)
def test_what_is_missing_is_told_as_json(capsys, name):
    assert "Missing argument" in refused(capsys, *name.split(), "--json")["error"]


@pytest.mark.parametrize("name", EVERY)
def test_a_spec_folder_that_is_not_there_is_told_as_json(capsys, tmp_path, name):
    assert "no such folder" in refused(capsys, "--json", *name.split(), "--spec", str(tmp_path / "none"))["error"]


READING = {name: [param for param in command.params if isinstance(param.type, InputPath) and isinstance(param, click.Argument)]
           for name, command in EVERY.items()}  # fmt: skip


@pytest.mark.parametrize("name", [name for name, inputs in READING.items() if inputs and name != "vectors verify"])
def test_a_file_that_is_not_there_is_told_as_json(capsys, tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    arguments = [param for param in EVERY[name].params if isinstance(param, click.Argument)]
    words = [
        "none.safetensors" for param in arguments for _ in range(max(1, param.nargs if param.required or param in READING[name] else 0))
    ]
    assert refused(capsys, *name.split(), "--json", *words)["error"]
    assert not list(tmp_path.iterdir())


def test_a_report_that_holds_the_fault_is_the_answer(capsys, tmp_path):
    assert run(["vectors", "verify", "--json", str(tmp_path / "none")]) == 2
    found = capsys.readouterr()
    report = json.loads(found.out)
    assert report["exit_code"] == 2 and f"emu: {report['faults'][0]}\n" == found.err


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["convert", "e2m1", "abc"], 2),
        (["convert", "e2m1", "1", "--engine", "steam"], 2),
        (["show", "nvfp4_te_reff"], 2),
        (["operate", "add", "1"], 2),
        (["nonsense"], 2),
    ],
)
def test_a_fault_of_the_work_is_told_as_json(capsys, words, code):
    assert refused(capsys, *words, "--json")["exit"] == code


def test_a_word_after_two_dashes_is_no_option(capsys):
    assert run(["convert", "e2m1", "--", "--json"]) == 2
    assert capsys.readouterr().out == ""


def test_a_verdict_is_the_only_json(capsys, tmp_path):
    (tmp_path / "k.py").write_text("import numpy as np\ndef f(x):\n    return np.zeros(x.shape, np.uint8)\n", "utf-8")
    assert run(["check", f"{tmp_path}/k.py:f", "--against", "convert/e2m1/rne/nvidia", "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["verdict"] == "differs"
