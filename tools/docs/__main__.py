"""`python -m tools.docs build` and `check`: generated files of the source tree, run from the clone."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from emu.base.errors import EmuError
from tools.docs import examples, tree

DIFFERS, MISUSE = 1, 2


def build(root: Path, as_json: bool) -> int:
    """Write the generated files that differ; 1 when an example in hand-written text prints something else."""
    changed = tree.build(root)
    by_hand = examples.faults(root)
    print(json.dumps(changed, indent=2) if as_json else "".join(f"{path}\n" for path in changed), end="\n" * as_json)
    print("".join(f"{fault}\n" for fault in by_hand) + f"{len(changed)} generated files changed", file=sys.stderr)
    return DIFFERS if by_hand else 0


def check(root: Path, as_json: bool) -> int:
    """Compare the generated files with spec and source, and run the examples; 1 with a short diff where they differ."""
    generated, by_hand = tree.check(root), examples.faults(root)
    if as_json:
        print(json.dumps([*generated, *by_hand], indent=2, ensure_ascii=False))
    else:
        last = [f"to mend it: {tree.COMMAND}"] if generated else [] if by_hand else ["generated files and examples are up to date"]
        print("\n".join([*generated, *by_hand, *last]))
    return DIFFERS if generated or by_hand else 0


def main(words: Sequence[str] | None = None) -> int:
    """Run one command; return its exit code: 0 done, 1 something differs, 2 misuse or a faulty file (one line on stderr)."""
    parser = argparse.ArgumentParser(prog="python -m tools.docs", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    for function in (build, check):
        command = commands.add_parser(function.__name__, help=function.__doc__)
        command.set_defaults(function=function)
        command.add_argument("--root", metavar="DIR", default=Path(), type=Path, help="The source tree; default: this folder.")
        command.add_argument("--json", action="store_true", help="Print JSON on stdout.")
    given = parser.parse_args(words)
    try:
        result: int = given.function(given.root, given.json)
    except EmuError as error:
        print(f"emu: {error}", file=sys.stderr)
        return MISUSE
    return result


if __name__ == "__main__":
    sys.exit(main())
