"""Compiles the bench of a suite with a design under test, runs it, and judges: self-test first, a pass only when every sign agrees.

The design is a module `dut` in one of the files: ports clk, rst, in_valid, out_valid and the columns of the suite by name. Not here: the
bench itself (vectors/bench), making a wrapper from a port map (portmap.py).
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Final, NamedTuple

from emu.base.caches import bounded
from emu.base.errors import FileError, OperandError, ToolError
from emu.rtl.simulate.outcome import FINE, MISUSE, UNKNOWN, Outcome, outcome
from emu.rtl.simulate.shard import Shard, read_shard
from emu.vectors.files.manifest import BENCH, OPERATIONS

NAMES: Final = ("icarus", "verilator")
_PROGRAMS: Final = {"icarus": ("iverilog", "vvp"), "verilator": ("verilator", "make")}
_DEBIAN: Final = {"icarus": "iverilog", "verilator": "verilator g++ make"}
_MADE: Final = {"icarus": "bench.vvp", "verilator": "obj_dir/Vbench"}
_UNKNOWN_PARAMETER: Final = re.compile(r"parameter \S+ not found in \S+")
SEEDS: Final = tuple(range(1, 9))
COMPILE_SECONDS: Final = 600
RUN_SECONDS: Final = 600


class Simulator(NamedTuple):
    """A simulator that is there. programs: paths of compiler and runner."""

    name: str
    programs: tuple[str, str]


class Built(NamedTuple):
    """A bench compiled with a design. command: what runs it, plusargs to be added."""

    simulator: Simulator
    shard: Shard
    stages: bool
    command: tuple[str, ...]
    work: Path


class Judgement(NamedTuple):
    """What judge found. self_test: the run on the file with one flipped bit.   runs: one a seed."""

    exit_code: int
    why: str
    self_test: Outcome
    runs: tuple[Outcome, ...]


def find(name: str | None = None) -> Simulator:
    """Return a simulator: "icarus", "verilator", or None for the first of them that is installed. Raises: OperandError, ToolError."""
    if name is not None and name not in NAMES:
        raise OperandError(f"{name}: no simulator of the kit: {', '.join(NAMES)}")
    for candidate in NAMES if name is None else (name,):
        found = [shutil.which(program) for program in _PROGRAMS[candidate]]
        if all(found):
            return Simulator(candidate, (str(found[0]), str(found[1])))
    if name is None:
        raise ToolError("no simulator is installed: neither iverilog nor verilator (Debian: apt-get install iverilog)")
    raise ToolError(f"{name}: not installed: {' or '.join(_PROGRAMS[name])} is missing (Debian: apt-get install {_DEBIAN[name]})")


def compile_bench(
    simulator: Simulator,
    op: str,
    suite: Path,
    files: Sequence[Path],
    defines: Mapping[str, int | str],
    work: Path,
    stages: bool = False,
    includes: Sequence[Path] = (),
) -> Built:
    """Compile the bench of an operation with a suite and a design.

    suite: path of the shard without ending.   files: the design; one holds module `dut`; their folders are searched for includes.
    defines: macros of the design.   work: a folder for what the compiler makes.
    stages: compare stage columns too; `dut` has their ports then.   includes: more folders that are searched for includes.
    Raises: FileError (a bad suite, another operation, a file that is missing or does not compile), ToolError (the simulator does not work).
    """
    shard = read_shard(Path(suite))
    if shard.op != op:
        raise FileError(f"{shard.name}: a suite of {shard.op}, not of {op}")
    if stages and not shard.with_stages:
        raise FileError(f"{shard.name}: has no stage columns")
    missing = [str(file) for file in files if not Path(file).is_file()]
    if missing or not files:
        raise FileError(f"{', '.join(missing) or 'no design'}: no such file")
    macros = {**defines, **({"EMU_STAGES": 1} if stages else {})}
    for name, value in macros.items():
        if not (name.isidentifier() and name.isascii()) or "\n" in str(value):
            raise OperandError(f"{name}={value}: not a macro")
    sources = [Path(file).resolve() for file in (shard.svh, bench(op), *files)]
    work = Path(work).resolve()
    folders = dict.fromkeys(f"-I{folder}" for folder in (*(file.parent for file in sources[1:]), *(path.resolve() for path in includes)))
    command = compile_sources(simulator, sources, [*folders, *(f"-D{name}={value}" for name, value in macros.items())], work)
    return Built(simulator, shard, stages, command, work)


def run(built: Built, vec: Path, plusargs: Sequence[str] = (), timeout: float = RUN_SECONDS) -> Outcome:
    """Run a compiled bench on one file of rows.

    vec: the `.mem`, or the `.neg.mem` with "+n=<rows>".   plusargs: as the bench takes them.   timeout: seconds of the wall clock.
    Raises: ToolError (the program cannot be started).
    """
    command = [*built.command, f"+vec={Path(vec).resolve()}", *plusargs]
    status, text = execute(command, built.work, timeout)
    return outcome(text, status)


def judge(
    built: Built, plusargs: Sequence[str] = (), seeds: Sequence[int] = SEEDS, timeout: float = RUN_SECONDS, vec: Path | None = None
) -> Judgement:
    """Run the self-test, then the suite, and say whether the design passed.

    plusargs: for both runs, without +vec, +n and +min.   seeds: Verilator starts unwritten bits from each; all RESULT lines must be equal.
    vec: the rows of the suite in another order; None: the suite.
    Returns: exit_code 0 only after a passed self-test and exactly one RESULT line with PASS, reason=none, this suite, its digest, and as
    many compared rows as the record has rows that are not open; 1 differs, 2 bad file, 3 nothing compared, 4 X or Z.
    Raises: OperandError (a plusarg that changes what is judged), ToolError.
    """
    taken = [text for text in plusargs if text.startswith(("+vec=", "+n=", "+min="))]
    if taken or not seeds:
        raise OperandError(f"{', '.join(taken) or 'no seed'}: judge chooses the file and the counts itself")
    shard, extra = built.shard, list(plusargs)
    test = run(built, shard.negative, [*extra, f"+n={shard.counts.negative}", *seeding(built, seeds[0])], timeout)
    chosen = seeds if built.simulator.name == "verilator" else seeds[:1]
    runs = tuple(run(built, vec or shard.mem, [*extra, *seeding(built, seed)], timeout) for seed in chosen)
    code, why = _verdict(built, runs)
    complaint = _self_test_complaint(test, shard)
    if code == FINE and complaint:
        return Judgement(MISUSE, f"the suite passes, yet the self-test does not: {complaint}", test, runs)
    return Judgement(code, why, test, runs)


def seeding(built: Built, seed: int) -> list[str]:
    """Return the plusargs with which Verilator starts unwritten bits from a seed; none for others."""
    return ["+verilator+rand+reset+2", f"+verilator+seed+{seed}"] if built.simulator.name == "verilator" else []


def _self_test_complaint(test: Outcome, shard: Shard) -> str:
    """Return what is wrong with the run on the flipped bit; nothing when the bench saw it."""
    result = test.result
    if result is None or result.verdict != "FAIL":
        return f"one flipped bit must give FAIL: {test.why}"
    if (result.suite, result.rows_sha256) != (shard.counts.name, shard.counts.sha256):
        return "the bench was compiled for another suite"
    if (result.reason, result.mismatch, result.x) != ("mismatch", 1, 0):
        return f"one flipped bit must give exactly one mismatch: {test.why}"
    return ""


def _verdict(built: Built, runs: Sequence[Outcome]) -> tuple[int, str]:
    shard, first = built.shard, runs[0]
    if first.exit_code != FINE or first.result is None:
        return (first.exit_code or MISUSE), first.why
    if any(other.result != first.result or other.exit_code for other in runs):
        return UNKNOWN, "RESULT lines differ from seed to seed: the design reads a bit that nothing wrote"
    if (first.result.suite, first.result.rows_sha256) != (shard.counts.name, shard.counts.sha256):
        return MISUSE, "the RESULT line names another suite"
    if first.result.compared != shard.compared(built.stages):
        return MISUSE, f"compared {first.result.compared} rows, the suite has {shard.compared(built.stages)} that are not open"
    return FINE, first.why


def compile_sources(
    simulator: Simulator, sources: Sequence[Path], options: Sequence[str], work: Path, timeout: float = COMPILE_SECONDS
) -> tuple[str, ...]:
    """Compile sources with a module `bench` and return the command that runs it, plusargs to be added.

    sources: in this order.   options: of the compiler, behind those of the kit.   work: a folder for what it makes.   timeout: seconds.
    Raises: FileError (the sources do not compile, or not within the time), ToolError (the simulator does not work).
    """
    work = Path(work).resolve()
    work.mkdir(parents=True, exist_ok=True)
    made = work / _MADE[simulator.name]
    made.unlink(missing_ok=True)
    status, text = execute([*_compiler(simulator, work), *options, *(str(Path(path).resolve()) for path in sources)], work, timeout)
    unknown = _UNKNOWN_PARAMETER.search(text)
    if unknown is not None:  # Icarus goes on with the value that the module has
        raise FileError(f"{simulator.name}: the design does not compile: {unknown[0]}")
    if status == 0 and made.is_file():
        return (simulator.programs[1], "-n", str(made)) if simulator.name == "icarus" else (str(made),)
    if status is None:
        raise FileError(f"{simulator.name}: the design does not compile within {timeout:g} s")
    complaints = [line.strip() for line in text.splitlines() if "error" in line.lower()] or text.strip().splitlines()
    _prove_working(simulator, work)
    shown = complaints[0] if complaints else f"code {status}"
    raise FileError(f"{simulator.name}: the design does not compile: {shown}")


def _compiler(simulator: Simulator, work: Path) -> list[str]:
    if simulator.name == "icarus":
        return [simulator.programs[0], "-g2012", "-s", "bench", "-o", str(work / "bench.vvp")]
    return [
        simulator.programs[0], "--binary", "--timing", "-fno-life", "-Wno-fatal", "-Wno-lint", "-Wno-style", "--x-initial", "unique",
        "--x-assign", "unique", "--top-module", "bench", "--Mdir", str(work / "obj_dir"), "--timescale", "1ns/1ps",
    ]  # fmt: skip


def _prove_working(simulator: Simulator, work: Path) -> None:
    """Compile an empty bench: what cannot do that is no simulator. Raises: ToolError."""
    probe = work / "probe"
    probe.mkdir(exist_ok=True)
    (probe / "probe.sv").write_text("module bench; initial $finish; endmodule\n", encoding="ascii")
    status, text = execute([*_compiler(simulator, probe), str(probe / "probe.sv")], probe, COMPILE_SECONDS)
    if status != 0 or not (probe / _MADE[simulator.name]).is_file():
        last = next((line for line in reversed(text.splitlines()) if line.strip()), f"code {status}")
        raise ToolError(f"{simulator.programs[0]}: does not work, not even with an empty module: {last.strip()}")


def execute(command: Sequence[str], work: Path, timeout: float) -> tuple[int | None, str]:
    """Run a program in a folder; return its exit code (None: stopped after `timeout` seconds) and everything that it printed.

    Raises: ToolError (it cannot be started).
    """
    with tempfile.TemporaryFile(dir=work) as printed:
        try:
            process = subprocess.Popen(
                command, cwd=work, stdin=subprocess.DEVNULL, stdout=printed, stderr=subprocess.STDOUT, start_new_session=True
            )
        except OSError as error:
            raise ToolError(f"{command[0]}: cannot be started: {error.strerror}") from None
        status: int | None
        try:
            status = process.wait(timeout)
        except BaseException as error:  # the time is over, or Ctrl-C: nothing that was started goes on
            with contextlib.suppress(ProcessLookupError):  # it ended of itself meanwhile
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            if not isinstance(error, subprocess.TimeoutExpired):
                raise
            status = None
        printed.seek(0)
        return status, printed.read().decode("utf-8", "replace")


# Where the bench kit lies: benches, reference designs, readers and examples. Not here: running it (simulator.py).


@bounded(1)
def path() -> Path:
    """Return the folder of the kit: inside the installed package, or the checkout's vectors/bench for an editable install."""
    package = Path(str(files("emu")))
    packaged = package / "_bench"
    return packaged if packaged.is_dir() else package.parent / "vectors" / BENCH


def bench(op: str) -> Path:
    """Return the bench of an operation. Raises: FileError (no such operation, the kit is not there)."""
    if op not in OPERATIONS:
        raise FileError(f"{op}: no operation of vectors: {', '.join(OPERATIONS)}")
    file = path() / f"{op}.sv"
    if not file.is_file():
        raise FileError(f"{file}: the bench kit is not where it should be: install emu again")
    return file
