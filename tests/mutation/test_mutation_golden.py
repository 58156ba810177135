"""The golden digests are those of the spec; a difference prints which objects changed and the command that takes the new ones over."""

import os
from pathlib import Path


def test_golden_digests(golden: tuple[Path, str]) -> None:
    path, text = golden
    if os.environ.get("EMU_GOLDEN") == "write":
        path.write_text(text, encoding="utf-8")
    old = path.read_text(encoding="utf-8")
    changed = [line for line in text.splitlines() if line not in old.splitlines()]
    command = "EMU_GOLDEN=write pytest tests/mutation -k golden"
    assert text == old, "\n".join(["what these objects do has changed:", *changed[:20], f"to take it over: {command}"])
