"""A training recipe resolved: for each operand its axis, its derived recipe, its rotation and the length that must divide the axis."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import ceil, lcm
from typing import Final

from emu.base.caches import Cache
from emu.base.errors import SpecError
from emu.spec.ieee import same_facts
from emu.spec.models import Block, Recipe, Rounding, Training, Transform
from emu.spec.models.recipe import CastStep, EmitStep, RecipeFacts, TransformStep
from emu.spec.models.training import OperandFacts
from emu.spec.programs.program import build
from emu.spec.registry import digest, get

GEMMS: Final = ("fprop", "dgrad", "wgrad")
AXES: Final = {"x": ("tokens", "in"), "w": ("out", "in"), "dy": ("tokens", "out")}
SUMMED: Final = {"fprop": "in", "dgrad": "out", "wgrad": "tokens"}


@dataclass(frozen=True)
class Operand:
    """One operand of one product.

    axis: of its matrix (x [tokens, in], w [out, in], dy [tokens, out]): the one summed over.   recipe: with the wanted rounding, or None.
    transform: before the recipe.   rotates: the recipe's own program does, with signs.   multiple: what the axis must be a multiple of.
    rows: the other axis must be a multiple of it, 1 for blocks of one row.   random_bits: of one element.
    """

    gemm: str
    name: str
    axis: int
    recipe: Recipe | None
    transform: Transform | None
    rotates: bool
    multiple: int
    rows: int
    random_bits: int

    @property
    def key(self) -> str:
        """Its name in messages and captures, such as dgrad.dy."""
        return f"{self.gemm}.{self.name}"


@dataclass(frozen=True)
class TrainingPlan:
    """The six operands, by product and name."""

    training: Training
    operands: dict[str, Operand]

    def operand(self, gemm: str, name: str) -> Operand:
        """Return one operand."""
        return self.operands[f"{gemm}.{name}"]

    def pair(self, gemm: str) -> tuple[Operand, Operand]:
        """Return both operands of a product, in the order of the spec."""
        first, second = (item for item in self.operands.values() if item.gemm == gemm)
        return first, second


_plans: Cache[str, TrainingPlan] = Cache("emu.spec.training._plans", 256)


def plan_of(training: str | Training) -> TrainingPlan:
    """Return the plan of a training recipe, made once. Raises: SpecError (unknown id)."""
    model: Training = get("training", training)
    key = f"{model.id} {digest(model)}"
    found = _plans.get(key)
    if found is None:
        found = _plans.keep(
            key, TrainingPlan(model, {f"{gemm}.{name}": operand_of(gemm, name, facts) for gemm, name, facts in model.operands()})
        )
    return found


def operand_of(gemm: str, name: str, facts: OperandFacts) -> Operand:
    """Resolve one operand. Raises: SpecError (a rounding that its recipe cannot have)."""
    axis = AXES[name].index(SUMMED[gemm])
    if facts.recipe == "none":
        return Operand(gemm, name, axis, None, None, False, 1, 1, 0)
    recipe = derived_recipe(facts.recipe, facts.round)
    block: Block = get("block", recipe.facts.block)
    transform: Transform | None = None if facts.transform == "none" else get("transform", facts.transform)
    mode: Rounding = get("rounding", facts.round)
    rotations = [get("transform", step.transform) for step in recipe.facts.steps if isinstance(step, TransformStep)]
    multiple = lcm(block.facts.shape[1], *(item.facts.size for item in (*rotations, *([] if transform is None else [transform]))))
    return Operand(gemm, name, axis, recipe, transform, bool(rotations), multiple, block.facts.shape[0], mode.random_bits)


def rotation_of(operand: Operand) -> Transform | None:
    """Return the rotation of an operand: before its recipe, or inside the recipe's program; None: none."""
    if operand.transform is not None or operand.recipe is None:
        return operand.transform
    found = [step.transform for step in operand.recipe.facts.steps if isinstance(step, TransformStep)]
    model: Transform | None = get("transform", found[0]) if found else None
    return model


def kept_layers(training: Training, count: int) -> frozenset[int]:
    """Return the numbers of the layers, of `count` in all, that stay in the operand format."""
    first, last = (ceil(Fraction(share) * count) for share in (training.facts.kept_first, training.facts.kept_last))
    return frozenset([*range(min(first, count)), *range(max(count - last, 0), count)])


# Recipes derived from others: the same program with another rounding of its element cast. No file holds them; their digest names them.


_derived: Cache[tuple[str, str], Recipe] = Cache("emu.spec.training._derived", 512)


def derived_recipe(recipe: str | Recipe, rounding: str | Rounding) -> Recipe:
    """Return a recipe whose cast to element codes rounds in another way; a rounding that draws reads the operand `random`.

    recipe, rounding: ids or models.   Returns: the recipe itself where it rounds so already; else a Recipe that every engine takes.
    Exactness: its program differs in that one step, so `ufp4` with sr_add8 is the program of `ufp4_sr`.
    Raises: SpecError (a program without one such cast; a rounding that cannot be part of it).   Tests: tests/spec/test_spec_derived.py.
    """
    base: Recipe = get("recipe", recipe)
    mode: Rounding = get("rounding", rounding)
    key = (f"{base.id} {digest(base)}", f"{mode.id} {digest(mode)}")
    found = _derived.get(key)
    return found if found is not None else _derived.keep(key, _derive(base, mode))


def _derive(base: Recipe, mode: Rounding) -> Recipe:
    number = element_cast(base)
    step = base.facts.steps[number]
    assert isinstance(step, CastStep)
    plain = same_facts(mode, get("rounding", base.facts.arithmetic.round))
    changed = step.model_copy(update={"round": None if plain else mode.id, "random": "random" if mode.random_bits else None})
    if changed == step:
        return base
    steps = (*base.facts.steps[:number], changed, *base.facts.steps[number + 1 :])
    facts = RecipeFacts.model_validate(base.facts.model_dump(by_alias=True) | {"steps": tuple(item.model_dump() for item in steps)})
    found = base.model_copy(update={"id": f"{base.id}_{mode.id}", "aliases": (), "facts": facts, "expect": ()})
    try:
        build(found, None)
    except SpecError as error:
        raise SpecError(f"recipe {base.id} with rounding {mode.id}: {error}: choose another rounding") from None
    return found


def element_cast(recipe: Recipe) -> int:
    """Return the number of the step that casts to the element codes. Raises: SpecError where no single cast does."""
    last = recipe.facts.steps[-1]
    assert isinstance(last, EmitStep)
    found = [number for number, step in enumerate(recipe.facts.steps) if isinstance(step, CastStep) and step.out == last.codes]
    if len(found) != 1:
        raise SpecError(f"recipe {recipe.id} chooses among several element casts: its rounding cannot be replaced: use another recipe")
    return found[0]
