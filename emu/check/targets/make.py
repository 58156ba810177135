"""The first thing a child process does: load the user's spec folders and make the target."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from emu.check.model import Target
from emu.check.targets.named import parse_target


def make(text: str, contract: str, options: Mapping[str, Any], folders: tuple[str, ...] = ()) -> Target:
    """Return the target of a text; see parse_target. folders: spec folders to add. Raises: as parse_target."""
    if folders:
        from emu.spec import load_spec

        for folder in folders:
            load_spec(folder)
    if text.startswith("exec:") and isinstance(options.get("gives"), str):
        options = {**options, "gives": (options["gives"],)}
    return parse_target(text, contract, **options)
