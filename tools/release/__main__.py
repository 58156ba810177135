"""Runs what a release needs, step by step: `python -m tools.release [--only STEP] [--list] [--work DIR]`.

What has passed is kept in DIR and is not run again while the tree is the same one, to the byte, under the same Python; a changed tree
starts anew. The output of a step is in DIR/logs/STEP.log. The steps are those of .ci/run and of tools/release/steps.toml.
--cluster: steps whose tasks may run on other machines (their commands name $workers) give them to its workers; nothing else changes.
Exit codes: 0 all steps that were asked for passed, 1 one failed, 2 misuse, 5 no scheduler answers.
"""

from __future__ import annotations

import argparse
import fcntl
import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from emu.base.cluster import LOCAL, checked_address, done_by_cluster
from emu.base.errors import EmuError, FileError, ToolError
from tools.release.run import FAILED, LEFT_OUT, OPEN, PASSED, Release, table
from tools.release.steps import OWN, Step, all_steps

ANSWER: Final = 10.0  # seconds within which a scheduler must run a task before the first step begins


def main(words: Sequence[str] | None = None) -> int:
    """Run the steps that are open and sum up; returns the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.release", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--only", metavar="STEP", action="append", default=[], help="Only this step; repeatable. One that passed runs again."
    )
    parser.add_argument("--list", action="store_true", help="Print the steps, how each ended on this tree, and run nothing.")
    parser.add_argument("--cluster", metavar="ADDRESS", help="local:N, or a scheduler whose workers were started in equal clones.")
    parser.add_argument("--work", metavar="DIR", type=Path, help="The folder of this release; default: out/release in the clone.")
    parser.add_argument("--root", metavar="DIR", type=Path, default=Path(), help="The clone; default: this folder.")
    parser.add_argument("--steps", metavar="FILE", type=Path, default=OWN, help="The table of steps; default: tools/release/steps.toml.")
    given = parser.parse_args(words)
    try:
        steps = all_steps(given.root, given.steps)
        unknown = sorted({*given.only} - {step.name for step in steps})
        if unknown:
            raise FileError(f"--only {unknown[0]}: no such step: --list names them")
        work = given.work or given.root / "out" / "release"
        if work.exists() and not work.is_dir():
            raise FileError(f"--work {work}: is no folder")
        workers = f"--cluster {checked_address(given.cluster)}" if given.cluster is not None else f"--jobs {os.cpu_count()}"
        release = Release(given.root, work, workers)
        if given.list:
            print(_listed(release, steps))
            return 0
        with (release.work / "lock").open("w") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise FileError(f"{release.work}: another run is at work here: wait for it, or name another folder with --work") from None
            if given.cluster and not given.cluster.startswith(LOCAL):
                list(done_by_cluster(str, [""], given.cluster, ANSWER))
            return _run(release, steps, given.only)
    except (EmuError, OSError) as error:
        print(f"emu: tools.release: {error}", file=sys.stderr)
        return 5 if isinstance(error, ToolError) else 2


def _listed(release: Release, steps: Sequence[Step]) -> str:
    return "\n".join(
        f"{step.name:14} {release.result(step).state:8} {step.minutes:5} min  {' '.join(step.command.split())[:110]}" for step in steps
    )


def _stop(number: int, _: object) -> None:
    """End as Ctrl-C does: what the step has started ends too."""
    raise SystemExit(128 + number)


def _run(release: Release, steps: Sequence[Step], only: Sequence[str]) -> int:
    """Run what is open, or what was named; every step runs, also after a failure."""
    signal.signal(signal.SIGTERM, _stop)
    if release.new_start:
        print("the tree is another one than at the last run: all steps are open")
    asked = [step for step in steps if not only or step.name in only]
    for step in asked:
        if not only and release.result(step).state == PASSED:
            print(f"{step.name}: passed before")
            continue
        print(f"== {step.name} (at most {step.minutes} min; {release.log(step)})", flush=True)
        result = release.run(step)
        print(f"{step.name}: {result.state} in {result.seconds:.0f} s: {result.said}", flush=True)
    rows = [(step.name, release.result(step)) for step in steps]
    states = [release.result(step).state for step in asked]
    print(f"\n{table(rows)}\n")
    counts = ", ".join(f"{sum(each.state == state for _, each in rows)} {state}" for state in (PASSED, FAILED, LEFT_OUT, OPEN))
    print(f"{len(rows)} steps: {counts}; tree {release.digest[:16]}")
    return int(FAILED in states)


if __name__ == "__main__":
    sys.exit(main())
