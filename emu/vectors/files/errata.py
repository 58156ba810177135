"""Errata of published rows, as data: every build applies them, so that a wrong row stays recognisable under its id.

Entries: {stem, tcId, column, old, new, why, fixed_by}; see versioning.apply_erratum. None so far.
"""

from __future__ import annotations

from typing import Any, Final

RELEASED: Final[tuple[dict[str, Any], ...]] = ()


def of_stem(stem: str) -> list[dict[str, Any]]:
    """Return the errata of a suite, in the order in which they were published."""
    return [erratum for erratum in RELEASED if erratum["stem"] == stem]
