"""The README: its Python runs as written, its console lines print what they say, its links and commands exist."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from emu.spec import get, names
from tools.docs import examples


@pytest.fixture(scope="module")
def readme(checkout: Path) -> str:
    return (checkout / "README.md").read_text(encoding="utf-8")


@pytest.mark.cases(0, 0)  # every example of every page; tools.docs check too
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


def test_what_is_said_of_instructions_and_machines_is_what_the_spec_says(readme: str) -> None:
    row = next(line for line in readme.splitlines() if line.startswith("`emu.instruction` reads "))
    every = [get("instruction", name) for name in names("instruction")]
    assert [thing.id for thing in every if thing.status == "measured"] == []  # "No statement about an instruction is measured"
    assert {thing.facts.isa for thing in every} == {"ptx", "amd", "arm", "riscv", "x86"}
    assert [word for word in ("PTX", "AMD", "Arm", "RISC-V", "x86") if word not in row] == []
    makers = ("ada", "hopper", "cdna", "sm_1", "blackwell_f", "blackwell_m", "blackwell_s")
    machines = [get("datapath", name) for name in names("datapath") if name.startswith(makers)]
    assert len(machines) > 12 and {thing.status for thing in machines} == {"reported", "unknown"}


def test_the_two_commands_are_executable(checkout: Path) -> None:
    for name in ("main-job", "test"):
        path = checkout / "scripts" / name
        assert path.stat().st_mode & 0o100, f"{path} is not executable"
        assert subprocess.run(["bash", "-n", str(path)], capture_output=True, check=False).returncode == 0


@pytest.mark.exhaustive
def test_the_main_job_shows_something_of_the_users_own_first(checkout: Path, tmp_path: Path) -> None:
    """A file of the user's comes back quantized and analyzed before vectors are built; install and vectors are stand-ins here."""
    lines = (checkout / "scripts" / "main-job").read_text(encoding="utf-8").splitlines()
    order = [next(i for i, line in enumerate(lines) if line.startswith(word)) for word in ("emu convert", "emu quantize", "emu analyze")]
    assert order == sorted(order) and order[-1] < next(i for i, line in enumerate(lines) if "emu vectors build" in line)
    assert '--title "$what"' in lines[order[-1]]
    (tmp_path / "scripts").mkdir()
    kept = lines[: next(i for i, line in enumerate(lines) if "golden vectors:" in line)]
    (tmp_path / "scripts" / "main-job").write_text("\n".join(kept) + "\n", encoding="utf-8")
    (tmp_path / "scripts" / "environment.sh").write_text('set -euo pipefail\nmake_environment() { mkdir -p "$1"; }\n', encoding="utf-8")
    np.save(tmp_path / "mine.npy", np.linspace(-2, 2, 4096, dtype=np.float32).reshape(16, 256))
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    words = ["bash", "scripts/main-job", "mine.npy"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, env={**os.environ, "PATH": path, "MPLBACKEND": "Agg"})
    assert done.returncode == 0, done.stderr
    assert "Quantized nvfp4_te_ref, shape (16,)" in done.stdout and "nvfp4_te_ref" in done.stdout.partition("what is lost")[2]
    made = {item.name for item in (tmp_path / "out").iterdir()}
    assert {"mine.npy.nvfp4.safetensors", "mine.npy.fp32.safetensors", "mine.npy.png"} <= made
    missing = subprocess.run(["bash", "scripts/main-job", "none.npy"], cwd=tmp_path, capture_output=True, text=True)
    assert missing.returncode == 2 and "none.npy" in missing.stderr
