"""Recipes derived from others: the same program with another rounding of its element cast. No file holds them; their digest names them."""

from __future__ import annotations

from emu.base.caches import Cache
from emu.base.errors import SpecError
from emu.spec.ieee import same_facts
from emu.spec.models import Recipe, Rounding
from emu.spec.models.recipe import CastStep, EmitStep, RecipeFacts
from emu.spec.programs.program import build
from emu.spec.registry import digest, get

_derived: Cache[tuple[str, str], Recipe] = Cache("emu.spec.derived._derived", 512)


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
