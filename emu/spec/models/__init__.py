"""Pydantic models of the spec files, one module per kind. Not here: reading files (loader.py), resolving names (registry.py)."""

from emu.spec.models.block import Block
from emu.spec.models.checkpoint import Checkpoint
from emu.spec.models.common import SpecObject
from emu.spec.models.coverage import Coverage
from emu.spec.models.datapath import Datapath
from emu.spec.models.epilogue import Epilogue
from emu.spec.models.format import Format
from emu.spec.models.instruction import Instruction
from emu.spec.models.layout import Layout
from emu.spec.models.policy import Policy
from emu.spec.models.recipe import Recipe
from emu.spec.models.rounding import Rounding
from emu.spec.models.series import Series
from emu.spec.models.training import Training
from emu.spec.models.transform import Transform

KINDS: dict[str, type[SpecObject]] = {
    "format": Format,
    "rounding": Rounding,
    "policy": Policy,
    "block": Block,
    "layout": Layout,
    "transform": Transform,
    "recipe": Recipe,
    "datapath": Datapath,
    "epilogue": Epilogue,
    "instruction": Instruction,
    "coverage": Coverage,
    "checkpoint": Checkpoint,
    "training": Training,
    "series": Series,
}
PLURALS = {kind: f"{kind}s" for kind in KINDS} | {"policy": "policies", "series": "series"}  # as texts and commands say them

__all__ = [
    "KINDS", "PLURALS", "Block", "Checkpoint", "Policy", "Coverage", "Datapath", "Epilogue", "Format", "Instruction", "Layout", "Recipe",
    "Rounding", "Series", "SpecObject", "Training", "Transform",
]  # fmt: skip
