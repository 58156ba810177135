"""The driver of simulators: what is missing or broken is exit 5, a design that does not compile 2, and a pass needs every sign."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from emu.base.errors import FileError, OperandError, ToolError
from emu.rtl.simulate import simulator
from emu.rtl.simulate.outcome import outcome, parse_result, strongest

STEM = "convert__bf16_to_e2m1__nvidia_rne__smoke"
SHA = "0" * 64
PASS = f"RESULT PASS reason=none suite=s rows_sha256={SHA} compared=4 mismatch=0 x=0 masked=1"


def altered(**fields: object) -> str:
    line = PASS
    for name, value in fields.items():
        before, after = line.split(f" {name}=")
        line = f"{before} {name}={value}{''.join(after.partition(' ')[1:])}"
    return line


OUTCOMES = {
    "pass": (PASS, 0, 0),
    "pass, then the simulator fails": (PASS, 1, 1),
    "pass, then it never ends": (PASS, None, 1),
    "mismatch": (altered(reason="mismatch", mismatch=2).replace("PASS", "FAIL"), 1, 1),
    "mismatch with exit code 0": (altered(reason="mismatch", mismatch=2).replace("PASS", "FAIL"), 0, 1),
    "timeout": (altered(reason="timeout").replace("PASS", "FAIL"), 1, 1),
    "count": (altered(reason="count").replace("PASS", "FAIL"), 1, 1),
    "x": (altered(reason="x", x=3).replace("PASS", "FAIL"), 1, 4),
    "bad file": (altered(reason="guard").replace("PASS", "BADFILE"), 1, 2),
    "nothing compared": (altered(compared=0), 0, 3),
    "pass with mismatches": (altered(mismatch=1), 0, 2),
    "pass with x": (altered(x=1), 0, 2),
    "pass with a reason": (altered(reason="count"), 0, 2),
    "two results": (f"{PASS}\n{PASS}", 0, 2),
    "pass and fail": (f"{altered(reason='mismatch', mismatch=2).replace('PASS', 'FAIL')}\n{PASS}", 0, 2),
    "no result": ("all fine", 0, 2),
    "no result and a code": ("Segmentation fault", 139, 1),
    "another form": (PASS.replace("compared=4", "compared=four"), 0, 2),
    "more words": (f"{PASS} and so on", 0, 2),
    "a digest too short": (PASS.replace(SHA, SHA[1:]), 0, 2),
}


@pytest.mark.parametrize("name", OUTCOMES)
def test_only_a_pass_that_all_signs_agree_on_is_zero(name: str) -> None:
    text, status, code = OUTCOMES[name]
    assert outcome(f"WARNING: a line\n{text}\nlast words\n", status).exit_code == code


def test_lines_for_machines_are_kept_and_the_rest_apart() -> None:
    out = outcome(f"WARNING\nMISMATCH a\nROW b\n{PASS}\n$finish called\n", 0)
    assert out.lines == ("MISMATCH a", "ROW b", PASS)
    assert out.other == "WARNING\n$finish called"
    assert out.result == parse_result(PASS)
    assert (out.result.compared, out.result.masked, out.result.suite) == (4, 1, "s")
    assert parse_result("RESULT") is None


@pytest.mark.parametrize(("codes", "code"), [((0, 0), 0), ((0, 5), 5), ((5, 3), 3), ((3, 4), 4), ((4, 1), 1), ((1, 2, 0), 2), ((), 3)])
def test_the_strongest_exit_code(codes: tuple[int, ...], code: int) -> None:
    assert strongest(codes) == code


def fake(folder: Path, **programs: str) -> str:
    """A PATH that holds shell scripts of these names, before the ordinary folders of programs."""
    folder.mkdir(exist_ok=True)
    for name, body in programs.items():
        (folder / name).write_text(f"#!/bin/sh\n{body}\n")
        (folder / name).chmod(0o755)
    return f"{folder}{os.pathsep}/usr/bin{os.pathsep}/bin"


def only(folder: Path, *names: str) -> str:
    """A PATH that holds these programs of the system and nothing else."""
    folder.mkdir(exist_ok=True)
    for name in names:
        target = subprocess.run(["sh", "-c", f"command -v {name}"], capture_output=True, text=True, check=True).stdout.strip()
        (folder / name).symlink_to(target)
    return str(folder)


def test_no_simulator_is_a_missing_tool(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    for name, text in (
        (None, "no simulator is installed"),
        ("icarus", "icarus: not installed"),
        ("verilator", "apt-get install verilator"),
    ):
        with pytest.raises(ToolError, match=text):
            simulator.find(name)
    with pytest.raises(OperandError, match="questa: no simulator of the kit"):
        simulator.find("questa")


def test_half_a_simulator_is_none(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    fake(tmp_path, iverilog="exit 0")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ToolError):
        simulator.find("icarus")


BROKEN = {
    "crashes": "kill -SEGV $$",
    "says nothing": "exit 3",
    "lies": "exit 0",
    "lacks a library": "echo 'iverilog: error while loading shared libraries: libbz2.so.1.0' >&2; exit 127",
}


@pytest.mark.parametrize("how", BROKEN)
def test_a_broken_simulator_is_no_fault_of_the_design(
    monkeypatch: pytest.MonkeyPatch, frozen: Callable[[str], Path], table: Path, tmp_path: Path, how: str
) -> None:
    monkeypatch.setenv("PATH", fake(tmp_path / "bin", iverilog=BROKEN[how], vvp="exit 0"))
    with pytest.raises(ToolError, match="does not work, not even with an empty module"):
        simulator.compile_bench(simulator.find("icarus"), "convert", frozen(STEM), [table], {}, tmp_path / "work")


def test_a_program_that_cannot_be_started(
    monkeypatch: pytest.MonkeyPatch, frozen: Callable[[str], Path], table: Path, tmp_path: Path
) -> None:
    path = fake(tmp_path / "bin", iverilog="exit 0", vvp="exit 0")
    (tmp_path / "bin" / "iverilog").write_text("#!/no/such/shell\n")
    monkeypatch.setenv("PATH", path)
    with pytest.raises(ToolError, match="cannot be started"):
        simulator.compile_bench(simulator.find("icarus"), "convert", frozen(STEM), [table], {}, tmp_path / "work")


WRONG_DESIGNS = {
    "no module dut": ("module other; endmodule", "dut"),
    "a port is missing": ("module dut(input clk, rst, in_valid, output out_valid, input [15:0] x); endmodule", "y"),
    "no Verilog": ("entity dut is", "error"),
}


@pytest.mark.parametrize("what", WRONG_DESIGNS)
def test_a_design_that_does_not_compile(need: Callable[..., None], frozen: Callable[[str], Path], tmp_path: Path, what: str) -> None:
    need("iverilog")
    text, said = WRONG_DESIGNS[what]
    (tmp_path / "dut.sv").write_text(text + "\n")
    with pytest.raises(FileError, match=f"the design does not compile: .*{said}"):
        simulator.compile_bench(simulator.find("icarus"), "convert", frozen(STEM), [tmp_path / "dut.sv"], {}, tmp_path / "work")


def test_files_and_macros_that_are_none(need: Callable[..., None], frozen: Callable[[str], Path], table: Path, tmp_path: Path) -> None:
    need("iverilog")
    icarus, path = simulator.find("icarus"), frozen(STEM)
    with pytest.raises(FileError, match=r"absent\.sv: no such file"):
        simulator.compile_bench(icarus, "convert", path, [tmp_path / "absent.sv"], {}, tmp_path / "work")
    with pytest.raises(FileError, match="no design"):
        simulator.compile_bench(icarus, "convert", path, [], {}, tmp_path / "work")
    for name in ("A B", "-o", "é"):
        with pytest.raises(OperandError, match="not a macro"):
            simulator.compile_bench(icarus, "convert", path, [table], {name: 1}, tmp_path / "work")


@pytest.mark.exhaustive
def test_a_design_that_hangs_in_no_time_is_stopped(need: Callable[..., None], frozen: Callable[[str], Path], tmp_path: Path) -> None:
    need("iverilog")
    (tmp_path / "dut.sv").write_text(
        "module dut(input clk, rst, in_valid, output out_valid, input [15:0] x, output [3:0] y);\n"
        "  reg a = 0; always @(x) if (in_valid) forever a = !a;\nendmodule\n"
    )
    bench = simulator.compile_bench(simulator.find("icarus"), "convert", frozen(STEM), [tmp_path / "dut.sv"], {}, tmp_path / "work")
    out = simulator.run(bench, bench.shard.mem, timeout=2)
    assert (out.exit_code, out.result, out.why) == (1, None, "the simulation did not end in time")


def built_with(text: str, frozen: Callable[[str], Path], tmp_path: Path) -> simulator.Built:
    (tmp_path / "dut.sv").write_text(
        "module dut(input clk, rst, in_valid, output out_valid, input [15:0] x, output [3:0] y);\n"
        f"  assign out_valid = in_valid;\n{text}\nendmodule\n"
    )
    return simulator.compile_bench(simulator.find("icarus"), "convert", frozen(STEM), [tmp_path / "dut.sv"], {}, tmp_path / "work")


CHEATS = {
    "ends before the bench": ("initial #1 $finish;", 2),
    "ends in the middle": ("initial #3000 $finish;", 2),
    "prints a pass and ends": (f'initial begin $display("{PASS}"); $finish; end', 2),
    "prints the right pass and ends": ('initial begin $display("{right}"); $finish; end', 2),
    "prints a pass of its own": (f'initial $display("{PASS}");', 2),
}


@pytest.mark.parametrize("how", CHEATS)
def test_a_design_cannot_talk_itself_into_a_pass(
    need: Callable[..., None], frozen: Callable[[str], Path], tmp_path: Path, how: str
) -> None:
    need("iverilog")
    text, code = CHEATS[how]
    right = PASS.replace("suite=s", f"suite={STEM}").replace("compared=4", "compared=48").replace("masked=1", "masked=0")
    digest = (frozen(STEM).with_suffix(".svh").read_text().split('`define TC_ROWS_SHA256 "')[1])[:64]
    bench = built_with(text.replace("{right}", right.replace(SHA, digest)), frozen, tmp_path)
    judged = simulator.judge(bench)
    assert judged.exit_code == code, judged.why


SHELL = ("sh", "sed", "grep", "cut", "tail", "head", "od", "tr", "awk", "diff", "mkdir", "rm", "dirname", "timeout", "sha256sum")


def by_shell(kit: Path, **variables: str) -> tuple[int, str]:
    done = subprocess.run(["/bin/sh", str(kit / "judge.sh")], env={"PATH": os.environ["PATH"], **variables}, capture_output=True, text=True)
    return done.returncode, (done.stdout + done.stderr).strip().splitlines()[-1]


def test_the_judge_in_shell_says_what_is_missing(kit: Path, frozen: Callable[[str], Path], table: Path, tmp_path: Path) -> None:
    own = {"SUITE": str(frozen(STEM)), "WRAP": str(table), "BUILD": str(tmp_path / "out")}
    path = only(tmp_path / "bin", *SHELL)
    assert by_shell(kit, **own, PATH=path) == (5, "judge: iverilog is not installed (Debian: apt-get install iverilog verilator g++ make)")
    code, text = by_shell(kit, **own, PATH=fake(tmp_path / "fake", iverilog="exit 1", vvp="exit 0"))
    assert (code, text.partition(":")[0]) == (5, "judge")
    assert "icarus does not work" in text
    assert by_shell(kit, **own, SIM="questa") == (2, "judge: SIM=questa: icarus or verilator")
    assert by_shell(kit)[0] == 2
    assert by_shell(kit, **own, ARGS="+n=3") == (2, "judge: ARGS: the file and the counts are chosen here")


def test_the_judge_in_shell_runs_through_make(
    kit: Path, frozen: Callable[[str], Path], table: Path, need: Callable[..., None], tmp_path: Path
) -> None:
    need("iverilog", "make")
    path = frozen(STEM)
    words = ["make", "-f", str(kit / "Makefile"), f"WRAP={table}", f"BUILD={tmp_path / 'out'}"]

    def make(*more: str) -> tuple[int, str]:
        done = subprocess.run([*words, *more], capture_output=True, text=True, cwd=tmp_path)
        return done.returncode, done.stdout + done.stderr

    code, text = make(f"SUITE={path}", f"ARGS=+table={path}.mem", "STALL=4")
    assert (code, text.splitlines()[-1]) == (0, f"judge: passed: {STEM}")
    code, text = make(f"SUITE={path}", f"ARGS=+table={path}.mem +fault=flip +at=3")
    assert (code, "MISMATCH suite=" in text, "Error 1" in text) == (2, True, True)
    code, text = make("all-suites", f"FOLDER={path.parent}", f"MATCH={STEM[:-2]}*", f"ARGS=+table={path}.mem")
    assert (code, text.splitlines()[-1]) == (0, "judge: 1 suites, code 0")
    code, text = make("all-suites", f"FOLDER={path.parent}", "MATCH=nothing*")
    assert "no suite" in text
    assert code == 2


def test_an_interrupt_ends_a_program_and_what_it_started(tmp_path):
    """What the program starts holds a pipe open for as long as it lives."""

    def stop(_number, _frame):
        raise KeyboardInterrupt

    os.mkfifo(tmp_path / "pipe")
    reader = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    main = threading.get_ident()

    def when_begun():
        select.select([reader], [], [], 30)
        signal.pthread_kill(main, signal.SIGUSR1)

    before = signal.signal(signal.SIGUSR1, stop)
    thread = threading.Thread(target=when_begun)
    try:
        thread.start()
        with pytest.raises(KeyboardInterrupt):
            simulator.execute(["sh", "-c", "(echo begun; exec sleep 60) > pipe & wait"], tmp_path, 60)
    finally:
        thread.join()
        signal.signal(signal.SIGUSR1, before)
    assert os.read(reader, 100) == b"begun\n"
    assert select.select([reader], [], [], 20)[0], "what it started runs on"
    assert os.read(reader, 100) == b""
    os.close(reader)
