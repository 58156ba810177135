"""Axes of variation as data: the files of axes_rules/, loaded strictly. Not here: applying a rule to a program (edit.py)."""

from __future__ import annotations

from importlib.resources import as_file, files
from typing import Any, Literal

from pydantic import Field, ValidationError

from emu.base.caches import bounded
from emu.base.errors import SpecError
from emu.spec.faults import first_fault
from emu.spec.loader import read
from emu.spec.models.common import Id, Part, digest_json

FILES = ("quantize_scale", "quantize_codes")
Fields = dict[str, Any]


class Edit(Part):
    """What becomes of each step that a rule finds; one key."""

    set: Fields = Field(default={}, description="other fields of the step; $0, $1 are its arguments as they were, none takes a field away")
    before: tuple[Fields, ...] = Field(default=(), description="steps between the first argument ($in) and the step")
    after: tuple[Fields, ...] = Field(default=(), description="steps between the step ($in) and its readers")
    skip: Literal["yes", "no"] = Field(default="no", description="readers take the first argument")
    by_division: Literal["yes", "no"] = Field(default="no", description="x * (1/f) becomes x / f")
    by_reciprocal: Literal["yes", "no"] = Field(default="no", description="x / f becomes x * (1/f)")
    constant_reciprocal: Literal["yes", "no"] = Field(default="no", description="v / c becomes v * round(1/c)")
    constant_divisor: Literal["yes", "no"] = Field(default="no", description="v * round(1/c) becomes v / c")


class Rule(Part):
    """One way in which a kernel may differ on an axis."""

    id: Id = Field(description="name inside the axis")
    says: str = Field(description="the difference in words")
    find: Fields = Field(description="fields of the steps that it changes")
    when: Fields | None = Field(default=None, description="fields of another step that must be there")
    do: Edit = Field(description="what becomes of them")
    also: Id | None = Field(default=None, description="a rule of the same file that is applied after it")


class AxisRules(Part):
    """One question about a kernel and the answers beside the documented one."""

    id: Id = Field(description="name of the axis")
    title: str = Field(description="what is asked")
    rules: tuple[Rule, ...] = Field(min_length=1, description="other answers")


class Axes(Part):
    """The axes of one stage."""

    kind: Literal["axes"] = Field(description="what the file is")
    operation: Literal["quantize"] = Field(description="operation of the contract grammar")
    stage: Literal["scale", "codes"] = Field(description="which answers they change")
    axes: tuple[AxisRules, ...] = Field(min_length=1, description="the axes")

    def rule(self, name: str) -> Rule:
        """Return the rule of an id. Raises: SpecError."""
        found = [rule for axis in self.axes for rule in axis.rules if rule.id == name]
        if not found:
            raise SpecError(f"axes of {self.operation} {self.stage}: no rule {name!r}")
        return found[0]

    def pairs(self) -> tuple[tuple[AxisRules, Rule], ...]:
        """Return every rule with its axis, in the order of the file."""
        return tuple((axis, rule) for axis in self.axes for rule in axis.rules)


@bounded(8)
def axes(stage: Literal["scale", "codes"]) -> Axes:
    """Return the axes of one stage of quantize. Raises: SpecError with file and line."""
    resource = files("emu.contracts.quantize") / "axes_rules" / f"quantize_{stage}.yaml"
    with as_file(resource) as path:
        document = read(path, f"axes/{path.name}")
    try:
        found = Axes.model_validate(document.data)
    except ValidationError as error:
        raise SpecError(first_fault(error, Axes, document)) from None
    for _, rule in found.pairs():
        if rule.also is not None:
            found.rule(rule.also)
    return found


@bounded(1)
def axes_digest() -> str:
    """Return the digest of all rules."""
    return digest_json([axes("scale").model_dump(mode="json"), axes("codes").model_dump(mode="json")])
