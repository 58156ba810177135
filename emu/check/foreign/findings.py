"""What was found, in words: one sentence per library and per kernel that departs. The counts and inputs are in the record."""

from __future__ import annotations

from typing import Final

FINDINGS: Final[dict[str, str]] = {}
LEFT_OUT: Final[dict[str, str]] = {}
