"""Every command with --cluster, where nobody listens: code 5 at once, one line, nothing written."""

from __future__ import annotations

import socket
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file
from support.cluster import need_cluster
from support.writing import every

import research.__main__ as research
from emu.cli import main as emu
from tools.blind.__main__ import main as blind
from tools.release.__main__ import main as release
from tools.rings.__main__ import main as rings

Main = Callable[[Sequence[str]], int]
# command -> its other words, in a folder that holds `model.safetensors`; what it would write goes below that folder
CLICK: dict[tuple[str, ...], tuple[str, ...]] = {
    ("emu", "quantize"): ("model.safetensors", "-r", "nvfp4_te", "-o", "out.safetensors"),
    ("emu", "convert-checkpoint"): ("model.safetensors", "--to", "modelopt_nvfp4", "--out", "out"),
    ("emu", "vectors", "build"): ("--out", "out"),
    ("emu", "vectors", "verify"): (".",),
    ("emu", "sweep"): ("--out", "out.json"),
    ("research", "all"): ("--out", "out"),
    ("research", "models", "run"): ("--record", "out.json"),
    ("research", "gradients"): ("run", "--record", "out.json"),
    ("research", "train"): ("--config", "decoder_cpu", "--out", "out"),
    ("research", "forks"): ("run", "--out", "out"),
}
MAINS: dict[str, tuple[Main, tuple[str, ...]]] = {
    "tools.blind": (blind, ("--count", "1", "--out", "out.json")),
    "tools.rings": (rings, ("--work", "out")),
    "tools.release": (release, ("--work", "out")),
}


def test_every_command_with_a_cluster_is_asked_below(checkout: Path) -> None:
    both = [*every(emu.commands, ("emu",)), *every(research.commands, ("research",))]
    assert {name for name, command in both if any("--cluster" in option.opts for option in command.params)} == CLICK.keys()
    mains = {path.parent.relative_to(checkout) for path in (checkout / "tools").rglob("__main__.py") if '"--cluster"' in path.read_text()}
    assert {".".join(path.parts) for path in mains} == MAINS.keys() - {"tools.release"}  # it is tools.rings under another name


@pytest.mark.parametrize("name", [*map(" ".join, CLICK), *MAINS])
def test_nobody_listens(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    need_cluster()
    monkeypatch.chdir(tmp_path)
    save_file({"a.weight": np.ones((64, 64), np.float32)}, "model.safetensors")
    with socket.create_server(("127.0.0.1", 0)) as free:
        address = f"tcp://127.0.0.1:{free.getsockname()[1]}"
    cluster = ("--cluster", address)
    if name in MAINS:
        main, words = MAINS[name]
        code = main([*words, *cluster])
    else:
        program, *command = name.split()
        words = CLICK[program, *command]
        code = {"emu": emu, "research": research}[program].run([*command, *words, *cluster])
    said = capsys.readouterr()
    assert (code, said.out) == (5, "")
    hint = "start one, or name the address of another"
    assert said.err.endswith(f"cluster {address}: no scheduler listens there (connection refused): {hint}\n")
    assert said.err.startswith("emu: ") and said.err.count("\n") == 1
    assert [path.name for path in tmp_path.rglob("*")] == ["model.safetensors"]
