"""The spec: strict loader, models, registry and derived facts. Not here: what operations mean (emu.engines.exact and the other engines)."""

from emu.spec.checks.objects import check_facts, settled
from emu.spec.family import family_line
from emu.spec.models import (
    KINDS,
    Block,
    Checkpoint,
    Coverage,
    Datapath,
    Epilogue,
    Format,
    Instruction,
    Layout,
    Policy,
    Recipe,
    Rounding,
    Series,
    SpecObject,
    Training,
    Transform,
)
from emu.spec.registry import digest, get, hand_over, load_spec, names

__all__ = [
    "KINDS",
    "Block",
    "Checkpoint",
    "Policy",
    "Coverage",
    "Datapath",
    "Epilogue",
    "Format",
    "Instruction",
    "Layout",
    "Recipe",
    "Rounding",
    "Series",
    "SpecObject",
    "Training",
    "Transform",
    "digest",
    "get",
    "load_spec",
    "names",
]

hand_over(check_facts, settled, family_line)
