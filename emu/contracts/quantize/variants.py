"""Variants: documented recipes, recipes with one rule or two applied, and the scale of one recipe with the codes of another."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations

from pydantic import ValidationError

from emu.base.errors import SpecError
from emu.contracts.quantize.axes import Fields, axes
from emu.contracts.quantize.edit import Stage, apply, is_joint, stages, steps_of
from emu.spec.contract import recipes_of_blocks
from emu.spec.models import Block, Recipe
from emu.spec.models.recipe import RecipeFacts
from emu.spec.programs.program import quantize_program
from emu.spec.registry import get


@dataclass(frozen=True)
class Variant:
    """One answer function.

    recipe: the program.   base: id of the documented recipe.   changes: (axis, what differs) of each rule applied.
    codes_of: id of the recipe whose steps make the codes, where it is another.
    """

    recipe: Recipe
    base: str
    changes: tuple[tuple[str, str], ...] = ()
    codes_of: str = ""

    @property
    def name(self) -> str:
        """The base and what differs, in words."""
        words = [*([f"element codes as {self.codes_of}"] if self.codes_of else []), *(says for _, says in self.changes)]
        return f"{self.base}: {', '.join(words)}" if words else self.base

    @property
    def is_documented(self) -> bool:
        """Tell whether nothing was changed."""
        return not self.changes and not self.codes_of


def documented(among: Sequence[str] | None = None) -> list[Variant]:
    """Return the recipes of the registry, or those of some ids. Raises: SpecError (unknown id)."""
    chosen = recipes_of_blocks() if among is None else [get("recipe", name).id for name in among]
    return [Variant(get("recipe", name), name) for name in chosen]


def shape_of(recipe: Recipe) -> tuple[int, int]:
    """Return rows and columns of a recipe's tile."""
    block: Block = get("block", recipe.facts.block)
    rows, columns = block.facts.shape
    return rows, columns


def family(variants: Iterable[Variant], shape: tuple[int, int]) -> list[Variant]:
    """Return the variants whose tile has a shape."""
    return [item for item in variants if shape_of(item.recipe) == shape]


def changed(item: Variant, stage: Stage, depth: int = 1) -> list[Variant]:
    """Return a variant with one rule of a stage applied, or with two; programs that are the same appear once.

    depth: rules at a time, 1 or 2; each of another axis.
    """
    found: dict[str, Variant] = {}
    pairs = axes(stage).pairs()
    for chosen in combinations(pairs, depth):
        if len({axis.id for axis, _ in chosen}) < depth:
            continue
        recipe: Recipe | None = item.recipe
        for _, rule in chosen:
            if recipe is not None:
                recipe = apply(recipe, rule, stage, None if rule.also is None else axes(stage).rule(rule.also))
        if recipe is not None and recipe.facts_digest != item.recipe.facts_digest:
            made = Variant(recipe, item.base, (*item.changes, *((axis.id, rule.says) for axis, rule in chosen)), item.codes_of)
            found.setdefault(recipe.facts_digest, made)
    return list(found.values())


def scale_variants(base: Variant, depth: int = 1) -> list[Variant]:
    """Return the variants of a recipe that may give other scale bytes, itself first unless depth is 2.

    A recipe whose scale depends on its codes takes the rules of both stages.
    """
    out = [base] if depth == 1 else []
    out += changed(base, "scale", depth)
    return out + (changed(base, "codes", depth) if is_joint(base.recipe) else [])


def code_variants(item: Variant, others: Sequence[Variant] = (), depth: int = 1) -> list[Variant]:
    """Return the variants with the same scale bytes and perhaps other codes, itself first unless depth is 2.

    others: recipes whose codes may be joined to its scale.
    """
    if is_joint(item.recipe):
        return [item] if depth == 1 else []
    out = [item] if depth == 1 else []
    out += changed(item, "codes", depth)
    for other in others if depth == 1 else ():
        joined = None if other.base == item.base else joined_of(item, other)
        if joined is not None:
            out.append(joined)
    return out


def joined_of(scale: Variant, codes: Variant) -> Variant | None:
    """Return the scale of one recipe with the codes of another; None where the codes do not read the scale through its code."""
    if get("block", scale.recipe.facts.block).element_formats != get("block", codes.recipe.facts.block).element_formats:
        return None
    if is_joint(codes.recipe):
        return None
    first, second = steps_of(scale.recipe), steps_of(codes.recipe)
    kept = {number for number, stage in enumerate(stages(scale.recipe)) if stage == "scale"}
    mine = [step for number, step in enumerate(first[:-1]) if number in kept]
    theirs, read = _renamed(second, first[-1]["levels"].get("scale"))
    if not read:
        return None
    emit = theirs[-1] | {"levels": first[-1]["levels"]}
    facts = scale.recipe.facts.model_dump() | {"steps": (*mine, *theirs[:-1], emit), "domain": codes.recipe.facts.domain.model_dump()}
    try:
        recipe = scale.recipe.model_copy(update={"facts": RecipeFacts.model_validate(facts)})
        quantize_program(recipe)
    except (SpecError, ValidationError):
        return None
    return Variant(recipe, scale.base, scale.changes, codes.base)


def _renamed(steps: Sequence[Fields], scale: str | None) -> tuple[list[Fields], bool]:
    """Return steps under names of their own that decode another scale; and whether any does."""
    own = {step["out"] for step in steps[:-1]}
    theirs = steps[-1]["levels"].get("scale")
    out: list[Fields] = []
    read = False
    for step in steps[:-1]:
        takes_scale = step["op"] == "decode" and step["args"] == (theirs,) and scale is not None
        read |= takes_scale
        args = (scale,) if takes_scale else tuple(f"its_{arg}" if arg in own else arg for arg in step["args"])
        out.append(step | {"out": f"its_{step['out']}", "args": args})
    return [*out, steps[-1] | {"codes": f"its_{steps[-1]['codes']}"}], read
