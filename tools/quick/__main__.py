"""Runs the tests nearest to what you changed: `python -m tools.quick [--since main] [--minutes 3] [--list]`.

Exit codes: 0 all that ran passed, 1 a test failed, 2 misuse, 3 no test ran.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from emu.base.errors import EmuError
from tools.quick.choose import FRAME, changed_files, python_sources, ranked
from tools.quick.run import PASSED, Result, keep_seconds, run_files

SHARE = 0.95  # of the minutes: the rest is for choosing and for ending processes
REMINDERS = {  # what is changed -> what no test file of the default run says of it
    "spec/": "spec/: python -m tools.docs build, and a new object: EMU_GOLDEN=write pytest tests/mutation -m mutants -k golden",
    "c_ref/": "c_ref/: install again first (pip install -e .); .ci/c-reference compilers and sanitizers",
    "emu/engines/native/kernels/": "kernels: install again first (pip install -e .)",
    "docs/": "docs/: python -m tools.docs check",
}


def main(words: Sequence[str] | None = None) -> int:
    """Choose, run and sum up; returns the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.quick", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--since",
        metavar="REV",
        default="main",
        help="Changed since this branch left REV, committed or not; HEAD: not committed. Default: main.",
    )
    parser.add_argument("--minutes", type=float, default=3, help="Stop after so many minutes. Default: 3.")
    parser.add_argument("--jobs", "-j", type=int, default=os.cpu_count() or 1, help="Test files at a time. Default: one a core.")
    parser.add_argument("--list", action="store_true", help="Print the chosen test files with their distances, and run nothing.")
    parser.add_argument("--root", metavar="DIR", type=Path, default=Path(), help="The source tree; default: this folder.")
    given = parser.parse_args(words)
    if given.jobs < 1 or not given.minutes > 0:
        print("emu: tools.quick: --jobs and --minutes must be above 0", file=sys.stderr)
        return 2
    try:
        changed = changed_files(given.root, given.since)
    except EmuError as error:
        print(f"emu: tools.quick: {error}", file=sys.stderr)
        return 2
    order, silent = ranked(changed, python_sources(given.root))
    print(f"{len(changed)} changed files since {given.since}, {len(order)} test files reach them")
    for path in silent:
        print(f"no test is known for {path}")
    if given.list:
        print("\n".join(f"{'frame' if far == FRAME else far:>5}  {path}" for far, path in order))
    else:
        results = run_files(given.root, [path for _, path in order], given.minutes * 60 * SHARE, given.jobs, _say)
        keep_seconds(given.root, results)
        code = _sum_up(results)
    for start, reminder in REMINDERS.items():
        if any(path.startswith(start) for path in changed):
            print(f"not asked here: {reminder}")
    return 0 if given.list else code


def _say(result: Result) -> None:
    """Print how one file ended, and all that it printed where it failed."""
    last = result.said.strip().splitlines()[-1:] or [""]
    print(f"{'FAILED' if result.failed else 'stopped' if result.code is None else 'ok':7} {result.path}: {last[0]}", flush=True)
    if result.failed:
        print(result.said, flush=True)


def _sum_up(results: Sequence[Result]) -> int:
    """Print what failed and what was left out; return the exit code."""
    ran = [result for result in results if result.code is not None]
    failed = [result.path for result in ran if result.failed]
    out = [result for result in results if result.code is None]
    rooms = Counter(str(Path(result.path).parent.relative_to("tests")) for result in out)
    if out:
        print(f"left out, the time was over: {len(out)} test files: " + ", ".join(f"{room} {count}" for room, count in rooms.items()))
        for result in out:
            if result.said:
                print(f"  {result.path}: {result.said}")
    print(f"{len(ran)} test files ran, {len(failed)} failed{': ' * bool(failed)}{' '.join(failed)}; the default run is `pytest`")
    if not any(result.code == PASSED for result in ran) and not failed:
        return 3
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main())
