"""The commands that write files: their words, the files that they read, and what they wrote. For tests that disturb them."""

from __future__ import annotations

import contextlib
import io
import json
import os
import signal
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import click
import numpy as np
from safetensors.numpy import save as save_safetensors

from emu.cli.main import commands, main, run
from emu.cli.settings import OutputPath

ROOT = Path(__file__).resolve().parents[2]
RECIPE = "mxfp4_torchao_floor"
HELD = "convert__fp32_to_int4__nvidia_rne__directed"  # a suite of which rows are chosen
MISMATCH = "MISMATCH suite=decode__e2m1_to_fp32__exact__all tc=1 out=fp32 in=0 want=00000000 got=00000001 mask=ffffffff"
SMALL = ["--data", "gaussian", "--rows", "16", "--columns", "64"]
SLOW = ("vectors", "delivered", "delivered.zip", "probe", "record.json", "plot.svg")  # over half a second


def every(command: click.Command, name: tuple[str, ...] = ()) -> list[tuple[tuple[str, ...], click.Command]]:
    """(words, command) of each command that is no group."""
    if not isinstance(command, click.Group):
        return [(name, command)]
    context = click.Context(command)
    return [found for part in command.list_commands(context) for found in every(command.get_command(context, part), (*name, part))]


EVERY = every(commands)
WRITING = [(name, command, out) for name, command in EVERY for out in command.params if isinstance(out.type, OutputPath)]


def write_inputs(folder: Path) -> None:
    """Write what the commands read."""
    values = np.linspace(-7, 7, 4096, dtype=np.float32).reshape(32, 128)
    (folder / "w.safetensors").write_bytes(save_safetensors({"w": values, "v": values[0]}))
    (folder / "s.safetensors").write_bytes(save_safetensors({"s": np.arange(512, dtype=np.uint8).reshape(64, 8)}))
    np.save(folder / "a.npy", values)
    (folder / "held.json").write_text(json.dumps({"schema": "emu-held-back-1", "contracts": [{"rows": {HELD: [1, 2, 3]}}]}))
    assert run(["quantize", str(folder / "w.safetensors"), "--recipe", RECIPE, "-o", str(folder / "q.safetensors"), "--quiet"]) == 0


# what is written: the words of the command, for a folder with the inputs and the name of the result
COMMANDS: dict[str, Callable[[Path, Path], list[Any]]] = {
    "q.safetensors": lambda here, out: ["quantize", here / "w.safetensors", "--recipe", RECIPE, "-o", out],
    "values.npz": lambda here, out: ["dequantize", here / "q.safetensors", "-o", out],
    "codes.npy": lambda here, out: ["convert", "e2m1", here / "a.npy", "--out", out],
    "moved.safetensors": lambda here, out: [
        "layout",
        "convert",
        here / "s.safetensors",
        "--from",
        "row_major",
        "--to",
        "sf128x4",
        "-o",
        out,
    ],
    "inputs.safetensors": lambda _, out: ["check", "--against", "convert/e1m2/rne/nvidia", "--suite", "directed", "--emit", out],
    "probe": lambda _, out: ["probe", "hopper_fp8", "--a-format", "e4m3", "--b-format", "e4m3", "--depth", "1", "-o", out],
    "objects.desc": lambda _, out: ["export", "descriptor", "recipe/nvfp4_te_ref", "-o", out],
    "golden.v": lambda _, out: ["rtl", "export", "decode/e2m1", "--golden", "verilog", "-o", out],
    "vectors": lambda _, out: ["vectors", "build", "--suite", "all", "--contract", "decode/e2m1", "--out", out],
    "delivered": lambda _, out: ["vectors", "deliver", "--contract", "decode/e2m1", "-o", out],
    "delivered.zip": lambda _, out: ["vectors", "deliver", "--contract", "decode/e2m1", "-o", out],
    "plot.svg": lambda here, out: ["analyze", here / "a.npy", "--recipe", RECIPE, "--plot", out],
    "record.json": lambda _, out: ["study", "bias", "--out", out],
    "wrapped.sv": lambda _, out: ["rtl", "wrap", ROOT / "vectors" / "bench" / "examples" / "fp4_pack2.yaml", "-o", out],
    "store": lambda here, out: ["convert-checkpoint", here / "q.safetensors", "--to", "compressed_tensors_mxfp4", "-o", out],
}

SUITE = ROOT / "vectors" / "decode" / "decode__e2m1_to_fp32__exact__all.mem"
BLOCKS = [word for name, digits in (("a", "2"), ("b", "9")) for word in (f"--{name}", digits + "0" * 31 + digits + "0" * 31)]


def _built(here: Path) -> Path:
    """Return the folder of a build, made when it is first asked for."""
    if not (here / "built").exists():
        assert run(["vectors", "build", "--suite", "all", "--contract", "decode/e2m1", "--out", str(here / "built"), "--quiet"]) == 0
    return here / "built"


def _there(out: Path) -> Path:
    """Return a folder, made if absent: the command wants one that is there."""
    out.mkdir(exist_ok=True)
    return out


# the others, which are only killed: every command has a line here, above or in NOT_KILLED
MORE: dict[str, Callable[[Path, Path], list[Any]]] = {
    "waves.vcd": lambda _, out: ["explain", "dot", "blackwell_mxf4_b32_ue8m0", *BLOCKS, "--sa", "3728", "--sb", "3729", "--vcd", out],
    "cover.json": lambda _, out: ["vectors", "cover", SUITE, "--out", out],
    "merged": lambda here, out: ["vectors", "merge", _built(here), "--out", out],
    "sweeps.json": lambda _, out: ["sweep", "-o", out, "--only", "special", "--only", "bf16", "--only", "e2m1"],
    "pages": lambda _, out: ["docs", "build", "--spec", ROOT / "tests" / "spec" / "user", "--out", out],
    "levels.vcd": lambda _, out: ["explain", "mismatch", MISMATCH, "--vcd", out],
    "tensor.json": lambda _, out: ["study", "tensor", "-r", "e2m1_fp32scale", *SMALL, "--out", out],
    "scales.json": lambda _, out: ["study", "scales", "--codec", "e8m0_floor", "--element", "e2m1", *SMALL, "--out", out],
    "kill_rows": lambda here, out: ["vectors", "kill", here / "held.json", "--out", _there(out)],
}
# command: why it is not killed here
NOT_KILLED = {
    "explore": "its compiler outlives it: tests/files/test_files_left.py",
    "rtl run": "starts a simulator; its own folder is temporary_folder's",
    "rtl prove": "starts a prover; its own folder is temporary_folder's",
    "rtl mutants": "starts a prover; its own folder is temporary_folder's",
    "rtl sweep": "starts a simulator; its own folder is temporary_folder's",
}


_warm: set[str] = set()


def warm(name: str, inputs: Path) -> None:
    """Run a command once in this process, whose children then have its modules and tables at once, also one that may not read them."""
    if name not in _warm:
        with contextlib.redirect_stdout(io.StringIO()), tempfile.TemporaryDirectory() as other:
            assert run([*map(str, (COMMANDS | MORE)[name](inputs, Path(other) / name)), "--quiet"]) == 0
        _warm.add(name)


def content(out: Path) -> dict[str, bytes] | None:
    """Return the bytes of every file of a result, hidden ones too; None where there is no result."""
    if out.is_dir():
        return {file.relative_to(out).as_posix(): file.read_bytes() for file in sorted(out.rglob("*")) if file.is_file()}
    return {"": out.read_bytes()} if out.exists() else None


# functions that can touch a file
CALLS = frozenset({"open", "write", "fsync", "link", "replace", "rename", "unlink", "mkdir", "close", "tofile", "chmod"})


class Ended(NamedTuple):
    """How a command ended: exit code (negative: a signal), what it said on stderr, the calls counted."""

    code: int
    said: str
    calls: int


def child(
    words: list[Any],
    before: Callable[[], object] = lambda: None,
    at: Callable[[int], object] = lambda _: None,
    calls: frozenset[str] = CALLS,
    events: frozenset[str] = frozenset({"c_call"}),
) -> Ended:
    """Run a command in a forked child. before: called in it first.   at: called at each of the calls, with its number.

    calls: the C functions that count.   events: "c_call": right before them, "c_return": right after.
    """
    reader, writer = os.pipe()
    number = os.fork()
    if number == 0:
        os.close(reader)
        count, errors, code = 0, io.StringIO(), 99

        def watch(_frame: object, event: str, called: Any) -> None:
            nonlocal count
            if event in events and getattr(called, "__name__", "") in calls and not isinstance(called.__self__, str | bytes):
                count += 1
                at(count)

        try:
            signal.signal(signal.SIGINT, signal.default_int_handler)
            sys.argv = ["emu", *map(str, words), "--quiet"]
            with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(errors):
                before()
                sys.setprofile(watch)
                try:
                    main()
                except SystemExit as end:
                    code = end.code if isinstance(end.code, int) else 0
                finally:
                    sys.setprofile(None)
        finally:
            os.write(writer, json.dumps([errors.getvalue()[-2000:], count]).encode())
            os._exit(code)
    os.close(writer)
    with os.fdopen(reader) as pipe:
        told = json.loads(pipe.read() or '["", 0]')
    return Ended(os.waitstatus_to_exitcode(os.waitpid(number, 0)[1]), *told)
