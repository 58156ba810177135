"""`python -m tools.site build`: the whole site as a folder, checked; run from the clone."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

import emu
from emu.base.errors import EmuError, ToolError

DIFFERS, MISUSE, MISSING = 1, 2, 5


def main(words: Sequence[str] | None = None) -> int:
    """Run one command; return its exit code: 0 built, 1 built with faults, 2 misuse or a faulty file, 5 a tool is missing."""
    parser = argparse.ArgumentParser(prog="python -m tools.site", description=__doc__)
    build = parser.add_subparsers(dest="command", required=True).add_parser("build", help="Write the site and say what is wrong with it.")
    build.add_argument("--out", metavar="DIR", type=Path, required=True, help="All versions: the site is DIR/VERSION.")
    build.add_argument("--root", metavar="DIR", default=Path(), type=Path, help="The source tree; default: this folder.")
    build.add_argument("--version", default=emu.__version__, help="The name of its folder; default: %(default)s.")
    build.add_argument("--no-stale-check", action="store_true", help="Another step has run `python -m tools.docs check` on this tree.")
    given = parser.parse_args(words)
    from tools.docs import tree
    from tools.site.build import build as write

    try:
        found = write(given.root, given.out, given.version)
        stale = [] if given.no_stale_check else tree.check(given.root)
        found += [f"stale: {text.splitlines()[0]}: run {tree.COMMAND}" for text in stale]
    except EmuError as error:
        print(f"emu: {error}", file=sys.stderr)
        return MISSING if isinstance(error, ToolError) else MISUSE
    print("".join(f"{fault}\n" for fault in found), end="")
    print(f"{given.out / given.version / 'index.html'}: {len(found)} faults", file=sys.stderr)
    return DIFFERS if found else 0


if __name__ == "__main__":
    sys.exit(main())
