"""What a release needs: `python -m tools.release` runs the ring `release` of `python -m tools.rings`, with its options, in out/release."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from tools.rings.__main__ import main as rings


def main(words: Sequence[str] | None = None) -> int:
    """Run the ring; returns the exit code."""
    return rings(words, "tools.release", "release")


if __name__ == "__main__":
    sys.exit(main())
