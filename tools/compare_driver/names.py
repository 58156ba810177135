"""The public names of a build, whichever of two spellings it has: engines, kinds of spec objects, functions."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

import numpy as np

import emu
import emu.spec

ENGINES = {"exact": ("exact",), "numpy": ("numpy", "fast"), "c_ref": ("c_ref",), "native": ("native",), "auto": ("auto",)}
KINDS = {"policy": ("policy", "conversion")}
SHOWN = (
    "format",
    "rounding",
    "policy",
    "block",
    "transform",
    "recipe",
    "datapath",
    "epilogue",
    "instruction",
    "layout",
    "checkpoint",
    "training",
)
OBJECTS = (*SHOWN, "coverage")


class Names:
    """A build: its engines (new word -> its own word), its spec objects, its functions."""

    def __init__(self, torch: bool) -> None:
        """torch: ask the torch engine too."""
        self.refusals = emu.EmuError
        self.kinds = {kind: next(word for word in words if self._has_kind(word)) for kind, words in KINDS.items()}
        self.engines = {}
        for engine, words in ENGINES.items():
            found = [word for word in words if self._has_engine(word)]
            if found:
                self.engines[engine] = found[0]
        if torch:
            self.engines["torch"] = "torch"

    def _has_kind(self, word: str) -> bool:
        try:
            return bool(emu.spec.names(word))
        except emu.EmuError:
            return False

    def _has_engine(self, word: str) -> bool:
        try:
            emu.convert(np.ones(1, np.float32), "e2m1", engine=word)
        except emu.EmuError:
            return False
        return True

    def ids(self, kind: str) -> list[str]:
        """Return the ids of a kind, sorted."""
        return sorted(emu.spec.names(self.kinds.get(kind, kind)))

    def get(self, kind: str, name: str) -> Any:
        """Return a spec object."""
        return emu.spec.get(self.kinds.get(kind, kind), name)

    def load_spec(self, folder: Any) -> None:
        """Add a folder of spec files."""
        (getattr(emu, "load_spec", None) or emu.spec.load_spec)(folder)

    def dequantize(self, quantized: Any, **named: Any) -> Any:
        """Return the values of a quantized tensor."""
        if hasattr(quantized, "dequantize"):
            return quantized.dequantize(**named)
        return emu.dequantize(quantized, **named)

    def facts(self) -> dict[str, Any]:
        """Return what a build has: engines, objects, version."""
        objects = {kind: self.ids(kind) for kind in OBJECTS}
        return {"version": emu.__version__, "engines": sorted(self.engines), "torch": find_spec("torch") is not None, "objects": objects}


def width(fmt: Any) -> int:
    """Return the bits of a code, from the facts of a format."""
    facts = fmt.facts
    if hasattr(facts, "exp_bits"):
        return int(facts.exp_bits) + int(facts.frac_bits) + (1 if facts.signed == "yes" else 0)
    return int(facts.bits)


def random_operand(rounding: Any, count: int) -> tuple[int, int] | None:
    """Return (how many words, bits of a word) that a rounding draws for count elements; None: it draws nothing."""
    random = rounding.facts.random
    if random == "none":
        return None
    if hasattr(random, "lanes"):
        return -(-count // int(random.lanes)), int(random.word)
    return count, int(random.per_element)
