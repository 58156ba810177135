"""Whether the papers are ready for a release: `python -m tools.release.papers`. Exit codes: 0 ready, 1 not, 2 misuse.

One version in pyproject.toml, emu/__init__.py, CITATION.cff and at the top of CHANGELOG.md, with a date there; one version of the vectors
in the code and in vectors/VERSION; nothing in the clone that is not committed.
"""

from __future__ import annotations

import argparse
import datetime as dt
import re
import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from emu.base.errors import EmuError
from tools.processes import git

_SAID: Final = (  # file, pattern of the version of the package in it
    ("emu/__init__.py", r'^__version__ = "(.+)"$'),
    ("CITATION.cff", r'^version: "(.+)"$'),
    ("CHANGELOG.md", r"^## (\S+)"),
)
_VECTORS: Final = ("emu/vectors/files/manifest.py", r'^VECTORS_VERSION: Final = "(.+)"$'), ("vectors/VERSION", r"^vectors (\S+)$")


def main(words: Sequence[str] | None = None) -> int:
    """Print a line for each fault; returns the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.release.papers", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--root", metavar="DIR", type=Path, default=Path(), help="The clone; default: this folder.")
    given = parser.parse_args(words)
    try:
        found = faults(given.root)
    except (EmuError, OSError, UnicodeDecodeError, tomllib.TOMLDecodeError, KeyError) as error:
        print(f"emu: tools.release.papers: {error}", file=sys.stderr)
        return 2
    print("\n".join(found) or "the papers are ready")
    return int(bool(found))


def faults(root: Path) -> list[str]:
    """Return a line for each thing that a release must not have; empty when the papers are ready."""
    version = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    found = [
        f"{name}: the version is {said or 'missing'}, in pyproject.toml it is {version}"
        for name, pattern in _SAID
        if (said := _first(root / name, pattern)) != version
    ]
    (code, one), (folder, other) = _VECTORS
    if _first(root / code, one) != _first(root / folder, other):
        found.append(f"{folder}: vectors {_first(root / folder, other)}, in {code} it is {_first(root / code, one)}")
    date = _first(root / "CHANGELOG.md", r"^## \S+ - (.+)$")
    try:
        dt.date.fromisoformat(date)
    except ValueError:
        found.append(f"CHANGELOG.md: {version} has no date ({date or 'nothing'}): write `## {version} - YYYY-MM-DD`")
    loose = git(root, "status", "--porcelain").splitlines()
    if loose:
        found.append(f"{len(loose)} files are not committed: {loose[0][3:]}")
    return found


def _first(path: Path, pattern: str) -> str:
    """Return what the first match in a file says, or nothing."""
    match = re.search(pattern, path.read_text(encoding="utf-8"), re.MULTILINE)
    return match[1] if match else ""


if __name__ == "__main__":
    sys.exit(main())
