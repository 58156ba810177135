"""Stochastic rounding without the random operand: is its distribution that of the contract? Placeholder of the statistics to come."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from emu.check.run import _Checker


def judge_distribution(checker: _Checker, key: int) -> None:
    """Judge mean, buckets and independence of a target that draws by itself."""
    checker.report.notes.append(f"distribution of key {key}: not judged yet")
