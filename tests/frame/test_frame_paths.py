"""What is handed over names no folder of the machine that made it: records and vectors are the same wherever they are made."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("docs/evidence", "vectors")
TOPS = "tmp|home|work|root|Users|var|opt|usr|mnt|media|private|srv|build|builds|runner|workspace|scratch|data|nix|proc|run|github"
ABSOLUTE = re.compile(rf"(?<![\w.)\]}}*!])/(?:{TOPS})/[\w.$-]|(?<!\w)[A-Za-z]:\\\\?[\w.]")


def machine_paths(text: str) -> Iterator[str]:
    """The absolute paths of a text, each cut to what a person needs to find it. The first line of a script may name its interpreter."""
    yield from (text[found.start() : found.start() + 60] for found in ABSOLUTE.finditer(text))


@pytest.mark.parametrize("folder", FOLDERS)
def test_no_file_names_a_folder_of_a_machine(folder: str) -> None:
    files = [path for path in sorted((ROOT / folder).rglob("*")) if path.is_file() and "__pycache__" not in path.parts]
    assert len(files) >= 7
    found = {str(path.relative_to(ROOT)): next(machine_paths(path.read_text("utf-8", "replace")), None) for path in files}
    assert {name: path for name, path in found.items() if path is not None} == {}


@pytest.mark.parametrize(
    "text",
    [
        "-cell $eq$/tmp/pytest-1/emu/_bench/rtl/convert4.sv:53$78 -port",
        '"out": "/home/me/x.json"',
        "at /work/emu",
        "/opt/emu/x",
        r"C:\emu\x",
        r'"C:\\emu"',
    ],
)
def test_such_a_path_is_seen(text: str) -> None:
    assert len(list(machine_paths(text))) == 1


@pytest.mark.parametrize(
    "text", ["#!/usr/bin/env python3", "rtl/convert4.sv:53$78", "https://host/home/x", "a/work/b", "./tmp/x", "out:\n"]
)
def test_other_words_pass(text: str) -> None:
    assert list(machine_paths(text)) == []
