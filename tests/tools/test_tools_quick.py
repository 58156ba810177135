"""The quick run: which test files a change chooses, in which order, and how the run ends; on a small tree of its own and on this one."""

import json
import subprocess
from pathlib import Path

import pytest

from tools.quick import run
from tools.quick.__main__ import main
from tools.quick.choose import FRAME, changed_files, python_sources, ranked

TREE = {
    "emu/__init__.py": 'from importlib import import_module\n_HOME = {"double": "emu.ops"}\n',
    "emu/ops/__init__.py": "from emu.ops.double import double\n",
    "emu/ops/double.py": "from emu.base import half\ndef double(x):\n    return 2 * x\n",
    "emu/base.py": "def half(x):\n    return x / 2\n",
    "emu/other.py": "def f():\n    from emu import base\n    return base\n",
    "emu/typed.py": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from emu import base\n",
    "emu/pages/page.py": "X = 1\n",
    "emu/pages/templates/page.j2": "text\n",
    "emu/cli/main.py": 'COMMANDS = {"one": "emu.cli.two:command"}\n',
    "emu/cli/two.py": "",
    "spec/format/e9m9.yaml": "id: e9m9\n",
    "c_ref/src/dot/step.c": "",
    "tests/ops/test_ops_double.py": "from emu.ops.double import double\ndef test_it():\n    assert double(1) == 2\n",
    "tests/ops/test_ops_public.py": "import emu\ndef test_it():\n    assert emu\n",
    "tests/ops/conftest.py": "",
    "tests/other/test_other.py": "from support import help\ndef test_it():\n    assert help\n",
    "tests/typed/test_typed.py": "import emu.typed\ndef test_it():\n    assert 1\n",
    "tests/pages/test_pages.py": "from emu.pages import page\ndef test_it():\n    assert page\n",
    "tests/spec/test_spec.py": "def test_it():\n    assert 1\n",
    "tests/names/test_names.py": "def test_it():\n    assert 'e9m9'\n",
    "tests/cli/test_cli_two.py": "from emu.cli.main import COMMANDS\ndef test_it():\n    assert COMMANDS\n",
    "tests/cli/test_cli_main.py": "from emu.cli.main import COMMANDS\ndef test_it():\n    assert COMMANDS\n",
    "tests/engines/c_ref/test_c_dot.py": "def test_it():\n    assert 1\n",
    "tests/support/help.py": "from emu import other\n",
    "tests/frame/test_frame.py": "def test_it():\n    assert 1\n",
}
SOURCES = {path: text for path, text in TREE.items() if path.endswith(".py")}


@pytest.mark.parametrize(
    ("changed", "wanted"),
    [
        ("emu/base.py", [(2, "ops/test_ops_double"), (3, "other/test_other"), (6, "ops/test_ops_public")]),
        ("emu/ops/double.py", [(1, "ops/test_ops_double"), (5, "ops/test_ops_public")]),
        ("emu/typed.py", [(1, "typed/test_typed")]),
        ("emu/pages/templates/page.j2", [(2, "pages/test_pages")]),
        ("emu/cli/two.py", [(1, "cli/test_cli_two"), (4, "cli/test_cli_main")]),
        ("spec/format/e9m9.yaml", [(1, "spec/test_spec"), (1, "names/test_names")]),
        ("c_ref/src/dot/step.c", [(1, "engines/c_ref/test_c_dot")]),
        ("tests/support/help.py", [(1, "other/test_other")]),
        ("tests/ops/conftest.py", [(1, "ops/test_ops_double"), (1, "ops/test_ops_public")]),
        ("tests/names/test_names.py", [(0, "names/test_names")]),
        ("emu/gone.py", []),
        ("README.md", []),
    ],
)
def test_a_change_chooses_the_tests_that_reach_it_nearest_first(changed, wanted):
    found, silent = ranked([changed], SOURCES)
    assert found == [*((far, f"tests/{name}.py") for far, name in wanted), (FRAME, "tests/frame/test_frame.py")]
    assert silent == ([] if wanted else [changed])


def test_who_imports_a_removed_module_is_chosen():
    sources = {path: text for path, text in SOURCES.items() if path != "emu/other.py"}
    assert ranked(["emu/other.py"], sources)[0][0] == (2, "tests/other/test_other.py")


@pytest.fixture
def clone(tmp_path):
    for path, text in TREE.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text, encoding="utf-8")
    for words in (["init", "-q", "-b", "main"], ["add", "-A"], ["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "one"]):
        subprocess.run(["git", *words], cwd=tmp_path, check=True)
    return tmp_path


def test_changes_are_those_of_the_branch_and_of_the_working_tree(clone):
    assert changed_files(clone, "main") == []
    (clone / "emu/base.py").write_text("X = 1\n", encoding="utf-8")
    (clone / "emu/new.py").write_text("", encoding="utf-8")
    (clone / "emu/typed.py").unlink()
    assert changed_files(clone, "HEAD") == ["emu/base.py", "emu/new.py", "emu/typed.py"]


def test_an_unknown_revision_is_one_line(clone, capsys):
    assert main(["--root", str(clone), "--since", "nowhere"]) == 2
    said = capsys.readouterr().err
    assert said.startswith("emu: tools.quick: git merge-base nowhere") and said.count("\n") == 1 and "--since" in said


def edited(clone):
    (clone / "tests/ops/test_ops_double.py").write_text("def test_it():\n    assert 1 == 2, 'planted'\n", encoding="utf-8")
    (clone / "tests/names/test_names.py").write_text("import time\ndef test_it():\n    time.sleep(600)\n", encoding="utf-8")
    (clone / "out").mkdir()
    (clone / "out/quick.json").write_text(json.dumps({"tests/frame/test_frame.py": 500}), encoding="utf-8")


def judge(clone, capsys, minutes="0.2"):
    assert main(["--root", str(clone), "--minutes", minutes, "--jobs", "2"]) == 1
    said = capsys.readouterr().out
    assert "FAILED  tests/ops/test_ops_double.py" in said and "planted" in said
    assert "stopped tests/names/test_names.py" in said
    assert "left out, the time was over: 2 test files: names 1, frame 1\n" in said
    assert "  tests/frame/test_frame.py: takes 500 s\n" in said
    assert "1 test files ran, 1 failed: tests/ops/test_ops_double.py" in said
    assert set(run.known_seconds(clone)) == {"tests/frame/test_frame.py", "tests/ops/test_ops_double.py"}


def test_the_run_says_what_failed_and_what_it_leaves_out(clone, capsys, monkeypatch):
    edited(clone)
    ends = {"tests/ops/test_ops_double.py": (1, 2.0, "planted"), "tests/names/test_names.py": (None, 11.4, "stopped after 11 s")}
    monkeypatch.setattr(run, "_pytest", lambda root, path, left: run.Result(path, *ends[path]))
    assert main(["--root", str(clone), "--list"]) == 0
    assert "    0  tests/names/test_names.py\n    0  tests/ops/test_ops_double.py\nframe  tests/frame" in capsys.readouterr().out
    judge(clone, capsys)


@pytest.mark.cases(0, 0)
def test_a_test_that_is_over_the_time_is_stopped(clone, capsys):
    edited(clone)
    judge(clone, capsys, minutes="0.4")  # time for the other file on a busy machine


def test_nothing_changed_is_no_pass(clone, capsys):
    assert main(["--root", str(clone)]) == 3
    assert "0 changed files since main, 0 test files" in capsys.readouterr().out


@pytest.mark.exhaustive
def test_in_this_tree_a_module_has_its_own_tests_first(checkout: Path):
    own = {
        "emu/engines/numpy/transform.py": "tests/engines/numpy/test_numpy_transform.py",
        "emu/engines/native/kernels/convert.c": "tests/engines/native/test_native_convert.py",
        "emu/cli/layout.py": "tests/cli/test_cli_layout.py",
        "tools/lines.py": "tests/tools/test_tools_lines.py",
    }
    found, silent = ranked(list(own), python_sources(checkout))
    assert silent == []
    assert {(1, test) for test in own.values()} <= set(found)
    assert sum(far <= 1 for far, _ in found) < 30, "what is nearest is not told from the rest"
