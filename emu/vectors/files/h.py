"""Writer of `.h`: the constants under the suite's own prefix, for C."""

from __future__ import annotations

from emu.contracts.columns import Layout
from emu.vectors.files.macros import Counts, constants, guarded, prefix


def render(layout: Layout, counts: Counts) -> str:
    """Return the text of a `.h` file."""
    own = prefix(counts.name)
    body = [f"#define {own}_{'TC_BASE' if name == 'BASE' else name} {value}" for name, value in constants(layout, counts)]
    return guarded(counts.name, "H", body, lambda text: "#" + text)
