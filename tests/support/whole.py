"""How much the exhaustive run tries: a share of the longest spaces for a change, all of them with EMU_ALL=1, before a release."""

from __future__ import annotations

import os

ALL = bool(os.environ.get("EMU_ALL"))


def tries(share: int, whole: int) -> int:
    """Return `whole` with EMU_ALL=1, `share` without."""
    return whole if ALL else share
