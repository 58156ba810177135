"""The README: its Python runs as written, its console lines print what they say, its links and commands exist."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from emu.docgen import examples


@pytest.fixture(scope="module")
def readme(checkout: Path) -> str:
    return (checkout / "README.md").read_text(encoding="utf-8")


def test_examples_print_what_they_say(readme: str, checkout: Path) -> None:
    blocks = list(examples.blocks_of(readme))
    assert sum(block.text.count(">>> ") for block in blocks) >= 10 and sum(block.text.count("$ emu ") for block in blocks) >= 2
    assert readme.count("```console\n") == sum(block.language == "console" for block in blocks)
    found = examples.faults(checkout)
    assert found == [], "\n".join(found)


def test_links_lead_to_files(readme: str, checkout: Path) -> None:
    targets = [target for target in re.findall(r"\]\(([^)]+)\)", readme) if not target.startswith("http")]
    assert targets
    missing = [target for target in targets if not (checkout / target).exists()]
    assert missing == []


def test_the_two_commands_are_executable(checkout: Path) -> None:
    for name in ("main-job", "test"):
        path = checkout / "scripts" / name
        assert path.stat().st_mode & 0o100, f"{path} is not executable"
        assert subprocess.run(["bash", "-n", str(path)], capture_output=True, check=False).returncode == 0
