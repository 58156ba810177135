"""Golden rows against a design in cocotb 2 and Icarus: the self-test, then the suite.

python run.py SUITE.mem DESIGN.sv... [-DNAME=VALUE...] [+NAME=VALUE...]      the rest of the suite lies beside SUITE.mem
One file holds module `dut`: your wrapper, or that of a port map (emu rtl wrap), whose plusargs are +stall= +press= +latency=.
Exit code: 0 PASS after a passed self-test, 1 FAIL, 2 misuse, bad file or failed self-test, 5 a tool is missing.
cocotb 2.1 was tried with Icarus 11; it does not build with Debian's Verilator 5.006, whose VPI is older than it wants.
"""

import re
import shutil
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True  # the kit's folder stays as it is

from emu_rows import FileError, read_suite  # noqa: E402

RESULT = re.compile(
    r"RESULT (PASS|FAIL|BADFILE) reason=(\w+) suite=\S+ rows_sha256=[0-9a-f]{64} compared=(\d+) mismatch=(\d+) x=(\d+) masked=\d+\Z"
)


def simulate(runner, rows: Path, work: Path, plusargs: list[str]) -> tuple[re.Match[str] | None, bool, list[str]]:
    """Return the one RESULT line, whether cocotb saw one test and no failure, and what was printed."""
    from cocotb_tools.runner import get_results

    log, xml = work / "log", work / "results.xml"
    for stale in (log, xml):
        stale.unlink(missing_ok=True)
    environment = {"EMU_ROWS": str(rows), "PYTHONPATH": str(Path(__file__).parent), "PYTHONDONTWRITEBYTECODE": "1"}
    try:
        runner.test(
            "golden_rows",
            "dut",
            hdl_toplevel_lang="verilog",
            build_dir=work,
            test_dir=work,
            results_xml=str(xml),
            log_file=log,
            extra_env=environment,
            plusargs=plusargs,
        )
        fine = get_results(xml) == (1, 0)
    except (SystemExit, RuntimeError):
        fine = False
    lines = log.read_text(errors="replace").splitlines() if log.is_file() else []
    found = [line for line in lines if line.startswith("RESULT ")]
    return (
        (RESULT.match(found[0]) if len(found) == 1 else None),
        fine,
        [line for line in lines if line.startswith(("MISMATCH ", "RESULT ", "PORTMAP "))],
    )


def main(words: list[str]) -> int:
    """Run both; print the lines of the suite."""
    plusargs = [word for word in words if word.startswith("+")]
    files = [Path(word).resolve() for word in words if not word.startswith(("-D", "+"))]
    defines = dict(word[2:].partition("=")[::2] for word in words if word.startswith("-D"))
    try:
        from cocotb_tools.runner import get_runner
    except ImportError:
        print("run.py: no cocotb here: pip install 'cocotb>=2.1'", file=sys.stderr)
        return 5
    if shutil.which("iverilog") is None:
        print("run.py: no iverilog here (Debian: apt-get install iverilog)", file=sys.stderr)
        return 5
    try:
        suite = read_suite(files[0])
        negative = files[0].with_name(files[0].name.removesuffix(".mem").split(".s0")[0] + ".neg.mem")
        read_suite(negative)
    except (FileError, IndexError) as error:
        print(f"run.py: {error if files else __doc__}", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory() as name:
        runner, work = get_runner("icarus"), Path(name)
        sources = [files[0].with_suffix(".svh"), *files[1:]]
        try:
            runner.build(
                sources=sources, hdl_toplevel="dut", defines=defines, build_dir=work, timescale=("1ns", "1ps"), log_file=work / "build"
            )
        except (SystemExit, RuntimeError):
            print((work / "build").read_text(errors="replace"), file=sys.stderr)
            return 2
        tested, _, printed = simulate(runner, negative, work, plusargs)
        found, fine, lines = simulate(runner, files[0], work, plusargs)
    print("\n".join(lines))
    open_rows = sum(not any(row.masks.values()) for row in suite.rows)
    if found is None or not (fine and found[1] == "PASS" and found[2] == "none" and int(found[3]) == len(suite.rows) - open_rows):
        broken = any(line.startswith("PORTMAP protocol ") for line in lines)  # the wrapper ended the run
        return 1 if broken or (found and not fine and found[1] == "FAIL") else 2
    if tested is None or (tested[1], tested[2], tested[4], tested[5]) != ("FAIL", "mismatch", "1", "0"):
        print(f"run.py: the suite passes, yet the self-test does not find its one flipped bit: {printed}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
