"""Test files one after the other on each core, a pytest process each, until the time is over."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final, NamedTuple

from tools.processes import output_of

RECORD: Final = Path("out", "quick.json")  # seconds of each file when it last ran here; git ignores the folder
PASSED, NOTHING = 0, 5  # exit codes of pytest


class Result(NamedTuple):
    """One test file: the exit code of pytest (None: stopped, or never begun), seconds, what it printed."""

    path: str
    code: int | None
    seconds: float
    said: str

    @property
    def failed(self) -> bool:
        """Whether a test failed or could not be collected."""
        return self.code not in (None, PASSED, NOTHING)


def known_seconds(root: Path) -> dict[str, float]:
    """Return the seconds of each file as recorded here; nothing where there is no record, or none that can be read."""
    try:
        found = json.loads((root / RECORD).read_text(encoding="utf-8"))
        return {str(path): float(seconds) for path, seconds in found.items()}
    except (OSError, ValueError, AttributeError):
        return {}


def keep_seconds(root: Path, results: Sequence[Result]) -> None:
    """Add to the record what ended."""
    (root / RECORD).parent.mkdir(exist_ok=True)
    ended = {result.path: round(result.seconds, 1) for result in results if result.code is not None}
    (root / RECORD).write_text(json.dumps(known_seconds(root) | ended, indent=1, sort_keys=True) + "\n", encoding="utf-8")


def run_files(root: Path, files: Sequence[str], seconds: float, jobs: int, say: Callable[[Result], None]) -> list[Result]:
    """Run each file in its own pytest, `jobs` at a time in the given order, and stop after `seconds`.

    A file whose last run took longer than what is left is passed over, so that others get the time. say: called when a file has ended.
    Returns: a result for each file, in the given order.
    """
    end, known = time.monotonic() + seconds, known_seconds(root)

    def one(path: str) -> Result:
        left = end - time.monotonic()
        if left <= 0 or known.get(path, 0) > left:
            return Result(path, None, 0, f"takes {known[path]:.0f} s" if path in known else "")
        result = _pytest(root, path, left)
        say(result)
        return result

    with ThreadPoolExecutor(jobs) as pool:
        return list(pool.map(one, files))


def _pytest(root: Path, path: str, seconds: float) -> Result:
    """Run one file; its process and all that it started end after `seconds`."""
    begin = time.monotonic()
    command = [sys.executable, "-P", "-m", "pytest", "-q", "--no-header", "-p", "no:cacheprovider", path]
    code, said = output_of(command, root, seconds)
    if code is None:
        said = f"stopped after {seconds:.0f} s"
    return Result(path, code, time.monotonic() - begin, said)
