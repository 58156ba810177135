"""HOWTO.md of the kit does what it says: its files are written, its commands run in their order, and what they print is compared."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from support.console import Command, commands, prints

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "vectors/bench/HOWTO.md").read_text(encoding="utf-8")
SECTIONS = dict(re.findall(r"^## (.*?)\n(.*?)(?=^## |\Z)", TEXT, re.DOTALL | re.MULTILINE))
SUITES = (
    "convert__bf16_to_e2m1__nvidia_rne__directed",
    "convert__bf16_to_e2m1__nvidia_rne__smoke",
    "dot__e1m2xe1m2_ue4m3_to_fp32__nv_like_b16__smoke",
)
SLOW = ("$ verilator ", "SIM=verilator", "$ emu ")  # words of sections that take seconds
TOOLS = ("iverilog", "verilator", "gcc", "ghdl", "make")


def refresh(folder: Path, made: Path) -> None:
    """Bring what the writers of this checkout make of a suite into a folder, and its MANIFEST up to date."""
    for path in made.parent.glob(f"{made.name}.*"):
        shutil.copy(path, folder)
    lines = (folder / "MANIFEST.sha256").read_text().splitlines()
    names = [line.partition("  ")[2] for line in lines]
    (folder / "MANIFEST.sha256").write_text(
        "".join(f"{hashlib.sha256((folder / name).read_bytes()).hexdigest()}  {name}\n" for name in names)
    )


@pytest.fixture
def place(tmp_path: Path, frozen: Callable[[str], Path], kit: Path) -> Path:
    """A folder with a copy of vectors/, and the files that the page tells the reader to write."""
    for op in ("convert", "dot"):
        shutil.copytree(ROOT / "vectors" / op, tmp_path / "vectors" / op)
    (tmp_path / "vectors/bench").symlink_to(kit)
    for stem in SUITES:
        refresh(tmp_path / "vectors" / stem.partition("__")[0], frozen(stem))
    files = re.findall(r"```systemverilog\n(// (\w+\.sv): .*?)```", TEXT, re.DOTALL)
    assert [name for _, name in files] == ["my_convert.sv", "my_wrapper.sv", "my_clocked.sv"]
    for text, name in files:
        (tmp_path / name).write_text(text)
    return tmp_path


def run(place: Path, before: list[Command], now: list[Command]) -> None:
    """Run commands in one shell, after the settings and files that commands before made."""
    setup = [command for command, _ in before if re.match(r"[A-Z]=|sed .*> (early|wrong)\.sv|iverilog .* -o bench\.vvp", command)]
    script = [f"{{ {command}\n}} >{number}.out 2>&1" for number, (command, _) in enumerate(now)]
    environment = {key: value for key, value in os.environ.items() if key not in ("PYTEST_CURRENT_TEST", "MAKEFLAGS")}
    environment["PATH"] = f"{Path(sys.executable).parent}:{environment['PATH']}"
    subprocess.run(["sh", "-c", "\n".join([*setup, *script])], cwd=place, check=False, env=environment)
    for number, (command, wanted) in enumerate(now):
        got = (place / f"{number}.out").read_text()
        assert prints(wanted, got), f"$ {command}\nprinted:\n{got}\nthe page says:\n{wanted}"


def test_the_copy_is_whole(place: Path) -> None:
    run(place, [], commands(TEXT.partition("\n## ")[0]))


@pytest.mark.parametrize(
    "title",
    [pytest.param(title, marks=pytest.mark.exhaustive if any(word in text for word in SLOW) else ()) for title, text in SECTIONS.items()],
)
def test_a_section_prints_what_it_says(title: str, place: Path, need: Callable[..., None], request: pytest.FixtureRequest) -> None:
    text = SECTIONS[title]
    need(*[tool for tool in TOOLS if re.search(rf"(^\$ |\| |SIM=){tool}\b", text, re.MULTILINE)])
    need(*(["iverilog"] if "SIM=icarus" in text or "cocotb/run.py" in text else []), *(["ghdl"] if "vhdl/run.sh" in text else []))
    if "cocotb/run.py" in text and importlib.util.find_spec("cocotb") is None:
        pytest.skip("no cocotb here (pip install 'fp4emu[rtl]')")
    if "c_ref" in text:
        (place / "c_ref").symlink_to(request.getfixturevalue("c_reference"))
    titles = list(SECTIONS)
    before = [pair for earlier in titles[: titles.index(title)] for pair in commands(SECTIONS[earlier])]
    assert commands(text)
    run(place, before, commands(text))


def test_the_comparison_sees_a_difference() -> None:
    assert prints("a=... b\n...\nend\n", "a=1 b\nx\ny\nend\n")
    assert prints("a\n...\n", "a\n") and not prints("a...\nb\n", "a\nx\nb\n")
    assert not prints("a=... b\n", "a=1 c\n") and not prints("", "x\n") and not prints("x\n", "")
    assert len(SECTIONS) >= 11 and sum(len(commands(text)) for text in SECTIONS.values()) > 30
