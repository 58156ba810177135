"""Writer of `.svh`: the constants under the suite's own prefix, and as TC_*, with lists of ports, so that one bench serves every suite."""

from __future__ import annotations

from emu.contracts.columns import Layout
from emu.vectors.files.macros import Counts, constants, guarded, lists, prefix


def render(layout: Layout, counts: Counts) -> str:
    """Return the text of a `.svh` file."""
    values = constants(layout, counts)
    own = prefix(counts.name)
    own_names = [(f"{own}_{'TC_BASE' if name == 'BASE' else name}", value) for name, value in values]
    shared = [(f"TC_{name}", value) for name, value in (*values, *lists(layout))]
    body = [f"`define {name} {value}".rstrip() for name, value in (*own_names, *shared)]
    return guarded(counts.name, "SVH", body, lambda text: "`" + text)
