"""Which recipes could have written the bytes of a store: those with its elements, block length and scale format."""

from __future__ import annotations

from emu.base.caches import bounded
from emu.base.errors import EmuError
from emu.checkpoint.facts import scale_extent, scale_format
from emu.spec import get, names
from emu.spec.models import Block, Checkpoint, Recipe
from emu.spec.programs.program import quantize_program


def candidates(store: Checkpoint) -> list[Recipe]:
    """Return the recipes whose codes and scales a store can hold, those of its own blocks first.

    Left out: recipes that draw random bits or rotate, whose bytes no original shows by itself.
    """
    found = [get("recipe", name) for name in names("recipe")]
    found = [recipe for recipe in found if _fits(recipe, store)]
    return sorted(found, key=lambda recipe: (not owns(store, recipe), recipe.id))


def owns(store: Checkpoint, recipe: Recipe) -> bool:
    """Tell whether the recipe's own block is one of the store's (or differs from one in nothing but the rows of a tile)."""
    return recipe.facts.block in store.facts.blocks or any(
        _same_levels(get("block", recipe.facts.block), name) for name in store.facts.blocks
    )


def _same_levels(block: Block, name: str) -> bool:
    other: Block = get("block", name)
    mine, theirs = ([(item.name, item.format, item.meaning) for item in found.facts.levels] for found in (block, other))
    return mine == theirs and block.facts.factor == other.facts.factor and block.element_formats == other.element_formats


def _fits(recipe: Recipe, store: Checkpoint) -> bool:
    block: Block = get("block", recipe.facts.block)
    own: Block = get("block", store.facts.blocks[0])
    if block.element_formats != own.element_formats or scale_extent(block) != scale_extent(own):
        return False
    scales = [level for level in block.facts.levels if level.meaning != "flag" and level.granularity != "tensor"] or block.facts.levels
    if [level.format for level in scales] != [scale_format(store).id] or recipe.transforms:
        return False
    if quantize_program(recipe).drawing is not None:
        return False
    two = any(level.granularity == "tensor" for level in block.facts.levels)
    return two or not any(
        level.granularity == "tensor" for level in own.facts.levels
    )  # one number more than the recipe makes: not its file


def has_tensor_level(recipe: Recipe) -> bool:
    """Tell whether a recipe makes a number for the whole tensor beside its scales."""
    block: Block = get("block", recipe.facts.block)
    return any(level.granularity == "tensor" and level != block.scale_level for level in block.facts.levels)


def reads_amax(recipe: Recipe) -> bool:
    """Tell whether a recipe is given the largest magnitude of the whole tensor."""
    return quantize_program(recipe).reads("tensor_amax")


def chooses(recipe: Recipe) -> bool:
    """Tell whether a recipe takes the better of two codings of a block: then its largest element does not decide the scale."""
    steps = {step.out: step for step in recipe.facts.steps if hasattr(step, "out")}
    emitted = next(step for step in recipe.facts.steps if step.op == "emit")
    source = steps.get(getattr(emitted, "codes", None))
    return source is not None and source.op == "select"


@bounded(4096, names=True)
def tensor_code(recipe_id: str, amax_bits: int) -> int | None:
    """Return the bits that a recipe stores for a tensor maximum (binary32 bits); None where it refuses it."""
    import numpy as np

    from emu.ops.functions import quantize

    recipe: Recipe = get("recipe", recipe_id)
    shape = get("block", recipe.facts.block).facts.shape
    try:
        found = quantize(np.zeros(shape, np.float32), recipe, tensor_amax=np.array(amax_bits, np.uint32).view(np.float32)[()])
    except EmuError:
        return None
    return None if found.tensor_scale is None else int(found.tensor_scale)
