"""docs/add_an_operation.md, followed: its diffs make a new step operation in a copy of the package, in at most six files, and it works."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
from support.mutation import package_folder

from emu.spec.registry import shipped_root

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "add_an_operation.md"
MOST_FILES = 6
ELSEWHERE = ("c_ref/", "emu/engines/c_ref/", "emu/engines/native/", "emu/engines/torch/triton/")  # C and Triton: not needed


def diffs() -> dict[str, list[list[str]]]:
    """File -> the hunks of the page's diffs, each a list of lines that begin with a blank, - or +."""
    found: dict[str, list[list[str]]] = {}
    for block in re.findall(r"^```diff\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL):
        head, *hunks = re.split(r"^@@\n", block, flags=re.MULTILINE)
        name = re.search(r"^\+\+\+ b/(\S+)$", head, re.MULTILINE)
        assert name is not None and hunks, f"a diff without a file or without changes: {head}"
        found.setdefault(name.group(1), []).extend(hunk.splitlines() for hunk in hunks)
    return found


def patched(text: str, hunks: list[list[str]], file: str) -> str:
    """The text with each hunk done, whose old lines must stand in it exactly once."""
    for hunk in hunks:
        old = "".join(f"{line[1:]}\n" for line in hunk if line[:1] in (" ", "-"))
        new = "".join(f"{line[1:]}\n" for line in hunk if line[:1] in (" ", "+"))
        assert not old or text.count(old) == 1, f"{file}: the page shows lines that are not there once:\n{old}"
        text = text.replace(old, new) if old else text + new
    return text


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the installed package and its spec with the page's operation in it."""
    root = tmp_path_factory.mktemp("tree")
    shutil.copytree(package_folder(), root / "emu", ignore=shutil.ignore_patterns("__pycache__"))
    if not (root / "emu" / "_spec").is_dir():
        shutil.copytree(shipped_root(), root / "spec")
    for name, hunks in diffs().items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(patched(path.read_text(encoding="utf-8") if path.exists() else "", hunks, name), encoding="utf-8")
    (root / "own").mkdir()
    (root / "own" / "negative_mxfp4.yaml").write_text((root / own_test()).read_text(encoding="utf-8").split('"""')[3], encoding="utf-8")
    return root


def ask(tree: Path, *command: str) -> subprocess.CompletedProcess[str]:
    """Run Python on the copy, not on the installed package."""
    environment = {**os.environ, "PYTHONPATH": str(tree), "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.run([sys.executable, *command], cwd=tree, env=environment, capture_output=True, text=True, timeout=300, check=False)


def own_test() -> str:
    return next(name for name in diffs() if name.startswith("tests/"))


def test_an_operation_is_at_most_six_files() -> None:
    files = list(diffs())
    assert len(files) <= MOST_FILES and not [name for name in files if name.startswith(ELSEWHERE)], files
    page = PAGE.read_text(encoding="utf-8")
    assert not [name for name in files if name.startswith("emu/") and f"| `{name}` |" not in page]


@pytest.mark.exhaustive
def test_the_copy_does_what_the_page_says(tree: Path) -> None:
    """The page's own test, on the copy: bits worked out by hand in exact, numpy and torch, and a refusal elsewhere."""
    found = ask(tree, "-c", "import emu; print(emu.__file__)")
    assert Path(found.stdout.strip()).parent.resolve() == (tree / "emu").resolve(), found
    found = ask(tree, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--import-mode=importlib", "--noconftest", own_test())
    engines = 3 + bool(find_spec("torch"))
    assert found.returncode == 0 and f"{2 * engines + 2} passed" in found.stdout, found.stdout + found.stderr


@pytest.mark.cases(1)
@pytest.mark.parametrize("engine", ["exact", "numpy"])
@pytest.mark.exhaustive
def test_the_page_sees_a_wrong_engine(tree: Path, tmp_path: Path, engine: str) -> None:
    """The sign of the first argument in place of the second: the page's test fails for that engine alone, and for auto if it takes it."""
    wrong = Path(shutil.copytree(tree, tmp_path / "wrong"))
    path = wrong / "emu" / "engines" / engine / "arithmetic.py"
    text = path.read_text(encoding="utf-8")
    old, new = {"exact": ("v[1].sign, v[0].magnitude", "v[0].sign, v[0].magnitude"), "numpy": ("np.copysign(v[0], v[1])", "v[0]")}[engine]
    assert text.count(old) == 1
    path.write_text(text.replace(old, new), encoding="utf-8")
    found = ask(wrong, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--import-mode=importlib", "--noconftest", own_test())
    failed = set(re.findall(r"^FAILED .*hand\[(\w+)\]", found.stdout, re.MULTILINE))
    assert found.returncode == 1 and failed == {engine} | ({"auto"} if engine == "numpy" else set()), found.stdout


@pytest.mark.exhaustive
def test_pages_say_the_step_in_its_own_words(tree: Path) -> None:
    program = "import emu; from emu.cli.main import run; emu.load_spec('own'); run(['show', 'negative_mxfp4'])"
    found = ask(tree, "-c", program)
    assert "negative    = |scaled| with the sign of -1  [element]" in found.stdout, found.stdout + found.stderr


def test_an_operation_that_an_engine_lacks_is_refused_by_the_table(tree: Path) -> None:
    """Named for no engine, the operation is the reference model's alone: every other engine says so in one line, and auto takes exact."""
    program = (
        "import emu, numpy as np\n"
        "from dataclasses import replace\n"
        "from emu.base.errors import EngineError\n"
        "from emu.spec.programs import steps\n"
        "steps.OPERATIONS['copysign'] = replace(steps.OPERATIONS['copysign'], engines=())\n"
        "emu.load_spec('own')\n"
        "x = np.ones((1, 32), np.float32)\n"
        "for engine in ('numpy', 'torch', 'c_ref', 'native'):\n"
        "    try:\n"
        "        emu.quantize(x, 'negative_mxfp4', engine=engine)\n"
        "    except EngineError as error:\n"
        "        print(engine, error)\n"
        "print(emu.quantize(x, 'negative_mxfp4').codes.tolist() == emu.quantize(x, 'negative_mxfp4', engine='exact').codes.tolist())\n"
    )
    found = ask(tree, "-c", program)
    said = [line.split()[0] for line in found.stdout.splitlines()]
    assert said == ["numpy", "torch", "c_ref", "native", "True"], found.stdout + found.stderr
