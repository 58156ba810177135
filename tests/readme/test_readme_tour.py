"""The README: its Python runs as written, its console lines print what they say, its links and commands exist."""

from __future__ import annotations

import doctest
import re
import subprocess
from pathlib import Path

import pytest


@pytest.fixture(scope="module")
def readme(checkout: Path) -> str:
    return (checkout / "README.md").read_text(encoding="utf-8")


def test_python_examples_print_what_they_say(readme: str) -> None:
    blocks = "\n".join(re.findall(r"```python\n(.*?)```", readme, re.DOTALL))
    examples = doctest.DocTestParser().get_doctest(blocks, {}, "README", "README.md", 0)
    assert len(examples.examples) >= 10
    runner = doctest.DocTestRunner()
    report: list[str] = []
    runner.run(examples, out=report.append)
    assert runner.failures == 0, "".join(report)


def test_console_examples_print_what_they_say(readme: str) -> None:
    pieces = [piece for block in re.findall(r"```console\n(.*?)```", readme, re.DOTALL) for piece in re.split(r"(?m)^\$ ", block) if piece]
    assert pieces
    for piece in pieces:
        command, _, wanted = piece.partition("\n")
        result = subprocess.run(command.split(), capture_output=True, text=True, timeout=60, check=False)
        assert result.returncode == 0, result.stderr
        printed = result.stdout.splitlines()
        assert [line.rstrip() for line in printed[: len(wanted.splitlines())]] == wanted.splitlines(), command


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
