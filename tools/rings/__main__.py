"""Runs a ring of checks: `python -m tools.rings [--ring change|full|gpu|release] [--only STEP] [--list] [--work DIR]`.

What has passed is kept in DIR and is not run again while the tree is the same one, to the byte, under the same Python; a changed tree
starts anew. The output of a step is in DIR/logs/STEP.log, the seconds of its tests in DIR/seconds/STEP.jsonl, what all came to in
DIR/summary.json and DIR/summary.txt. The steps are those of tools/rings/steps.toml; full has those of change too, release all.
--cluster: steps whose tasks may run on other machines (their commands name $workers) give them to its workers; nothing else changes.
Exit codes: 0 all steps that were asked for passed, 1 one failed, 2 misuse, 5 no scheduler answers.
"""

from __future__ import annotations

import argparse
import contextlib
import fcntl
import json
import os
import signal
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from tools.rings.run import LEFT_OUT, OPEN, PASSED, Runner, as_text, summary, write
from tools.rings.steps import RINGS, TABLE, RingError, Step, all_steps, of_ring, with_needs

PATIENCE: Final = 3.0


def main(words: Sequence[str] | None = None, name: str = "tools.rings", ring: str = "change") -> int:
    """Run the steps that are open and sum up; returns the exit code. name, ring: of the command, and its ring where none is named."""
    given = _parser(name, ring).parse_args(words)
    try:
        if given.cores < 1 or not 0 < given.patience <= 100:
            raise RingError("--cores is above 0, --patience above 0, at most 100")
        table = all_steps(given.steps)
        unknown = sorted({*given.only} - {step.name for step in table})
        if unknown:
            raise RingError(f"--only {unknown[0]}: no such step: --list names them")
        work = given.work or given.root / "out" / name.rpartition(".")[2]
        if work.exists() and not work.is_dir():
            raise RingError(f"--work {work}: is no folder")
        workers = f"--jobs {os.cpu_count()}" if given.cluster is None else f"--cluster {_checked(given.cluster)}"
        if given.cluster is not None and not given.list and (said := _silent(given.cluster)):
            print(f"emu: {name}: {said}", file=sys.stderr)
            return 5
        runner = Runner(given.root, work, workers, given.cores, given.patience)
        steps = of_ring(table, given.ring)
        if given.list:
            print(_listed(runner, steps))
            return 0
        with (runner.work / "lock").open("w") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise RingError(f"{runner.work}: another run is at work here: wait for it, or name another folder with --work") from None
            asked = [step for step in table if step.name in given.only] if given.only else steps
            needed = [step for step in with_needs(table, (step.name for step in asked)) if runner.result(step).state != PASSED]
            return _run(runner, given, steps, [step for step in table if step in needed or step.name in given.only], asked)
    except (ValueError, OSError) as error:  # ValueError: also what emu raises
        print(f"emu: {name}: {error}", file=sys.stderr)
        return 2


def _checked(address: str) -> str:
    """Return the address of a cluster. Raises: OperandError (there can be none), ImportError (no emu here)."""
    from emu.base.cluster import checked_address  # here: rings run before emu is installed

    return checked_address(address)


def _silent(address: str) -> str:
    """Return why a cluster does not answer; nothing where it does."""
    from emu.base.cluster import LOCAL, check_reached
    from emu.base.errors import ToolError

    try:
        if not address.startswith(LOCAL):  # the workers of a step are its own
            check_reached(address)
    except ToolError as error:
        return str(error)
    return ""


def _parser(name: str, ring: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog=f"python -m {name}", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ring", choices=[*RINGS], default=ring, help=f"Default: {ring}.")
    parser.add_argument(
        "--only",
        metavar="STEP",
        action="append",
        default=[],
        help="Only this step, and before it what it needs and has not passed; repeatable. One that passed runs again.",
    )
    parser.add_argument("--list", action="store_true", help="Print the steps, how each ended on this tree, and run nothing.")
    parser.add_argument("--show", action="store_true", help="Print the output of a step when it has ended.")
    parser.add_argument(
        "--cores", type=int, default=os.cpu_count() or 1, help="That the steps may keep busy. Default: those of the machine."
    )
    parser.add_argument(
        "--patience", type=float, default=PATIENCE, help=f"The limit of a step, as a multiple of its minutes. Default: {PATIENCE:g}."
    )
    parser.add_argument("--cluster", metavar="ADDRESS", help="local:N, or a scheduler whose workers were started in equal clones.")
    parser.add_argument(
        "--work", metavar="DIR", type=Path, help=f"The folder of this run; default: out/{name.rpartition('.')[2]} in the clone."
    )
    parser.add_argument("--root", metavar="DIR", type=Path, default=Path(), help="The clone; default: this folder.")
    parser.add_argument("--steps", metavar="FILE", type=Path, default=TABLE, help="The table of steps; default: tools/rings/steps.toml.")
    return parser


def _listed(runner: Runner, steps: Sequence[Step]) -> str:
    return "\n".join(
        f"{step.name:18} {step.ring:8} {runner.result(step).state:8} {step.minutes:4} min  {step.cores} cores  "
        + " ".join(step.command.split())[:100]
        for step in steps
    )


def _stop(number: int, _: object) -> None:
    """End as Ctrl-C does: what the steps have started ends too."""
    raise SystemExit(128 + number)


def _run(runner: Runner, given: argparse.Namespace, ring: Sequence[Step], to_run: Sequence[Step], asked: Sequence[Step]) -> int:
    """Run what is open, or what was named; every step runs, also after a failure, but for what needs it."""
    signal.signal(signal.SIGTERM, _stop)
    begin = installed = time.monotonic()
    if runner.new_start:
        print("the tree is another one than at the last run: all steps are open")
    for step in asked:
        if step not in to_run:
            print(f"{step.name}: passed before")
    with contextlib.closing(runner.run(to_run)) as events:
        for step, result in events:
            minutes = f"{(time.monotonic() - begin) / 60:5.1f} min"
            if result is None:
                print(f"{minutes}  {step.name} begins ({step.minutes} min on idle cores; {runner.log(step)})", flush=True)
                continue
            if step.installs:
                installed = time.monotonic()
            if given.show and result.state not in (OPEN, LEFT_OUT):
                print(f"\n== {step.name}\n{runner.log(step).read_text(encoding='utf-8', errors='replace')}")
            print(f"{minutes}  {step.name}: {result.state} in {result.seconds:.0f} s: {result.said}", flush=True)
    now = time.monotonic()
    found = summary(runner, given.ring, ring, now - begin, now - installed)
    write(runner.work / "summary.json", json.dumps(found, indent=1) + "\n")
    write(runner.work / "summary.txt", as_text(found) + "\n")
    print(f"\n{as_text(found)}")
    return int(any(runner.result(step).state not in (PASSED, LEFT_OUT) for step in asked))


if __name__ == "__main__":
    sys.exit(main())
