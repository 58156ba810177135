"""Keeps the seconds of slow tests: `python -m tools.rings.seconds FILE...`; each FILE is a `seconds/STEP.jsonl` of a run of a ring.

Writes tests/seconds.json: node id -> processor seconds of the tests that take half a second or more. Those of FILE replace what was kept;
what FILE does not name stays while its file has such a function. Give the files of the steps `tests` and `exhaustive`: elsewhere a test
may take other seconds. Exit codes: 0 written, 2 misuse.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from tools.rings.run import write

KEPT: Final = Path("tests", "seconds.json")
LEAST: Final = 0.5


def main(words: Sequence[str] | None = None) -> int:
    """Write the table anew; returns the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.rings.seconds", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("files", metavar="FILE", type=Path, nargs="+")
    parser.add_argument("--root", metavar="DIR", type=Path, default=Path(), help="The clone; default: this folder.")
    given = parser.parse_args(words)
    path = given.root / KEPT
    try:
        rows = [json.loads(line) for file in given.files for line in file.read_text(encoding="utf-8").splitlines()]
        measured = {str(row["test"]): float(row["seconds"]) for row in rows}
        known = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    except (OSError, ValueError, KeyError, TypeError) as error:
        print(f"emu: tools.rings.seconds: {error!r}: name files that EMU_SECONDS=FILE pytest wrote", file=sys.stderr)
        return 2
    kept = kept_of(given.root, known, measured)
    write(path, json.dumps(kept, indent=0) + "\n")
    print(f"{path}: {len(kept)} tests")
    return 0


def kept_of(root: Path, known: Mapping[str, float], measured: Mapping[str, float]) -> dict[str, float]:
    """Return the seconds to keep, sorted by name: the measured ones, and of the known ones those of tests that are still there."""
    both = {name: took for name, took in known.items() if is_there(root, name)}
    both.update(measured)
    return {name: took for name, took in sorted(both.items()) if took >= LEAST}


def is_there(root: Path, name: str) -> bool:
    """Whether the file of a test has a function of its name."""
    file, _, function = name.partition("[")[0].partition("::")
    path = root / file
    return path.is_file() and f"def {function.rpartition('::')[2]}(" in path.read_text(encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
