"""Editing a recipe's program in memory: one rule applied to every step that it finds. Not here: which rules there are (axes.py)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from itertools import count
from typing import Any, Literal

from pydantic import ValidationError

from emu.base.errors import SpecError
from emu.contracts.quantize.axes import Edit, Fields, Rule
from emu.engines.exact.decode import decode_code
from emu.engines.exact.encode import encode_value
from emu.engines.exact.round import round_value
from emu.engines.exact.value import finite
from emu.spec import derive
from emu.spec.models import Format, Recipe
from emu.spec.models.recipe import RecipeFacts
from emu.spec.programs.program import quantize_program
from emu.spec.programs.types import ELEMENT, TENSOR
from emu.spec.registry import get

Stage = Literal["scale", "codes"]
SIMPLE = 64  # the largest denominator of a constant that a reciprocal in place stands for


def steps_of(recipe: Recipe) -> list[Fields]:
    """Return the quantize program as plain steps."""
    return [step.model_dump(exclude_none=True) for step in recipe.facts.steps]


def stages(recipe: Recipe) -> list[Stage]:
    """Return for each step before emit which answers it leads to first: a level, else the codes alone."""
    emit = recipe.facts.steps[-1]
    wanted = set(emit.levels.values()) if emit.op == "emit" else set()
    found: list[Stage] = []
    for step in reversed(recipe.facts.steps[:-1]):
        assert step.op != "emit"
        leads = step.out in wanted
        if leads:
            wanted |= set(step.args)
        found.insert(0, "scale" if leads else "codes")
    return found


def is_joint(recipe: Recipe) -> bool:
    """Tell whether the scale depends on the codes, so that no step belongs to the codes alone but the last choice."""
    return all(step.op == "select" for step, stage in zip(recipe.facts.steps[:-1], stages(recipe), strict=True) if stage == "codes")


def apply(recipe: Recipe, rule: Rule, stage: Stage, also: Rule | None = None) -> Recipe | None:
    """Return the recipe with a rule applied; None where it finds no step or the program is refused.

    stage: steps of which stage may be changed.   also: applied after it where it fits.
    """
    extents = _found(recipe, rule, stage)
    if not extents or (rule.when is not None and not any(_fits(step, rule.when, None) for step in steps_of(recipe))):
        return None
    steps = steps_of(recipe)
    for extent in sorted(extents, reverse=True):
        _edit(recipe, steps, extent, rule.do)
    changed = _checked(recipe, steps)
    if changed is None or changed.facts_digest == recipe.facts_digest:
        return None
    return changed if also is None else apply(changed, also, stage) or changed


def _checked(recipe: Recipe, steps: Sequence[Fields]) -> Recipe | None:
    facts = recipe.facts.model_dump() | {"steps": tuple(steps)}
    try:
        changed = recipe.model_copy(update={"facts": RecipeFacts.model_validate(facts)})
        quantize_program(changed)
    except (SpecError, ValidationError):
        return None
    return changed


def _found(recipe: Recipe, rule: Rule, stage: Stage) -> list[int]:
    program = quantize_program(recipe)
    names = {ELEMENT: "element", TENSOR: "tensor"}
    extents = [names.get(item.type.extent, "block") for item in program.instructions]
    allowed = ["codes", "scale"] if is_joint(recipe) and stage == "codes" else [stage]
    known = zip(steps_of(recipe)[:-1], stages(recipe), extents, strict=True)
    return [number for number, (step, owner, extent) in enumerate(known) if owner in allowed and _fits(step, rule.find, extent)]


def _fits(step: Fields, find: Fields, extent: str | None) -> bool:
    for key, wanted in find.items():
        if key == "place":
            good = wanted == extent
        elif key == "args":
            args = step.get("args", ())
            good = len(args) == len(wanted) and all(map(_fits_argument, args, wanted))
        elif wanted == "none":
            good = step.get(key) is None
        else:
            good = step.get(key) == wanted
        if not good:
            return False
    return True


def _fits_argument(argument: str, wanted: str) -> bool:
    if wanted == "const":
        return not argument[0].isalpha()
    return wanted in ("*", argument)


def _edit(recipe: Recipe, steps: list[Fields], extent: int, do: Edit) -> None:
    """Change one step of a list, where the edit fits it."""
    step, args = steps[extent], steps[extent]["args"]
    if do.set:
        fields = {key: _filled(value, args) for key, value in do.set.items()}
        steps[extent] = {key: value for key, value in (step | fields).items() if value != "none"}
    elif do.before:
        put = _put(do.before, args[0], steps, recipe)
        steps[extent] = step | {"args": (put[-1]["out"], *args[1:])}
        steps[extent:extent] = put
    elif do.after:
        inner = _fresh(steps, step["out"])
        put = _put(do.after, inner, [*steps, {"out": inner}], recipe)
        put[-1] = put[-1] | {"out": step["out"]}
        steps[extent : extent + 1] = [step | {"out": inner}, *put]
    elif do.skip == "yes":
        _reroute(steps, step["out"], args[0])
        del steps[extent]
    else:
        _arithmetic(recipe, steps, extent, do)


def _put(wanted: Iterable[Fields], source: str, steps: Sequence[Fields], recipe: Recipe) -> list[Fields]:
    """Return new steps with names of their own."""
    made: list[Fields] = []
    for fields in wanted:
        last = made[-1]["out"] if made else source
        args = tuple(last if arg == "$last" else _scale_value(recipe) if arg == "$scale" else arg for arg in fields["args"])
        args = tuple(source if arg == "$in" else arg for arg in args)
        made.append(fields | {"out": _fresh([*steps, *made], "put"), "args": args})
    return made


def _scale_value(recipe: Recipe) -> str:
    """Return the name of the value of the block scale; a name that is refused where there is none, or several."""
    program = quantize_program(recipe)
    scale = program.outputs.get("scale")
    found = [item.out for item in program.instructions if item.op == "decode" and item.args == (scale,)]
    return found[0] if len(found) == 1 else "no_scale_value"


def _filled(value: Any, args: Sequence[str]) -> Any:
    if not isinstance(value, tuple):
        return value
    return tuple(args[int(item[1:])] if item.startswith("$") else item for item in value)


def _fresh(steps: Sequence[Fields], stem: str) -> str:
    known = {step.get("out") for step in steps}
    return next(name for number in count(1) if (name := f"{stem}_{number}") not in known)


def _reroute(steps: list[Fields], old: str, new: str) -> None:
    for number, step in enumerate(steps):
        if "args" in step:
            steps[number] = step | {"args": tuple(new if arg == old else arg for arg in step["args"])}
    emit = steps[-1]
    levels = {name: new if out == old else out for name, out in emit["levels"].items()}
    steps[-1] = emit | {"codes": new if emit["codes"] == old else emit["codes"], "levels": levels}


def _arithmetic(recipe: Recipe, steps: list[Fields], extent: int, do: Edit) -> None:
    """Exchange a division and a multiplication."""
    step, args = steps[extent], steps[extent]["args"]
    if do.by_reciprocal == "yes":
        inner = _fresh(steps, "reciprocal")
        steps[extent : extent + 1] = [
            {"out": inner, "op": "div", "args": ("1", args[1])},
            step | {"op": "mul", "args": (args[0], inner)},
        ]
    elif do.by_division == "yes":
        divisor = _divisor(steps, args[1])
        if divisor is not None:
            steps[extent] = step | {"op": "div", "args": (args[0], divisor)}
    else:
        number = _constant(args[1], get("format", recipe.facts.arithmetic.to))
        if not number:
            return
        up = do.constant_reciprocal == "yes"
        other = _reciprocal(number, recipe) if up else _simple_divisor(args[1], number, recipe)
        if other is not None:
            steps[extent] = step | {"op": "mul" if up else "div", "args": (args[0], other)}


def _divisor(steps: Sequence[Fields], name: str) -> str | None:
    """Return f where a name is 1/f, perhaps behind min and select."""
    made = {step["out"]: step for step in steps if "out" in step}
    while name in made and made[name]["op"] in ("min", "select"):
        name = made[name]["args"][0 if made[name]["op"] == "min" else -1]
    step = made.get(name, {})
    return step["args"][1] if step.get("op") == "div" and step["args"][0] == "1" else None


def _constant(argument: str, fmt: Format) -> Fraction | None:
    """Return the number that stands in place; None for a name, Inf and NaN."""
    if argument[0].isalpha():
        return None
    if not argument.startswith("0x"):
        return derive.parse_exact(argument)
    value = decode_code(int(argument, 16), fmt)
    return value.signed if value.kind == "finite" else None


def _reciprocal(number: Fraction, recipe: Recipe) -> str | None:
    """Return round(1/number) as a bit pattern; None where it is exact, so that nothing changes."""
    fmt: Format = get("format", recipe.facts.arithmetic.to)
    rounded = round_value(finite(1 / number), fmt, get("rounding", recipe.facts.arithmetic.round))
    if rounded.magnitude == abs(1 / number):
        return None
    return f"0x{encode_value(rounded, fmt):08X}"


def _simple_divisor(argument: str, number: Fraction, recipe: Recipe) -> str | None:
    """Return the simple fraction whose reciprocal a constant is; None where it is none."""
    simple = (1 / number).limit_denominator(SIMPLE)
    if simple == 0 or _reciprocal(simple, recipe) != argument:
        return None
    return str(simple)
