"""Which recipe quantizes which tensor: one for all, and others for the tensors whose names match a pattern.

Not here: which tensors a recipe takes (take.py).
"""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from emu.base.errors import FileError, OperandError, SpecError
from emu.spec import get
from emu.spec.models import Recipe

OPTION = "--recipe-for"


@dataclass(frozen=True)
class Pattern:
    """Names of tensors, as a shell writes them (* ? [abc], large and small letters differ), and the recipe of those that match."""

    glob: str
    recipe: Recipe

    @classmethod
    def parse(cls, text: str) -> Pattern:
        """Return the pattern that GLOB=RECIPE means. Raises: OperandError (another form), SpecError (unknown recipe)."""
        glob, _, name = text.rpartition("=")
        if not glob or not name:
            raise OperandError(f"{OPTION} {text!r}: write GLOB=RECIPE, such as '*.mlp.*=mxfp4_torchao_floor'")
        try:
            return cls(glob, get("recipe", name))
        except SpecError as error:
            raise SpecError(f"{OPTION} {text!r}: {error}") from None

    def matches(self, name: str) -> bool:
        """Tell whether the name of a tensor matches."""
        return fnmatch.fnmatchcase(name, self.glob)

    def __str__(self) -> str:
        return f"{OPTION} '{self.glob}={self.recipe.id}'"


def distinct(recipes: Iterable[Recipe]) -> list[Recipe]:
    """Return each of some recipes once, in the order in which they first come."""
    return list({recipe.id: recipe for recipe in recipes}.values())


@dataclass(frozen=True)
class Recipes:
    """The recipe of each tensor: that of the last pattern that matches its name, else the default.

    Tests: tests/cli/test_cli_recipe_for.py.
    """

    default: Recipe
    patterns: tuple[Pattern, ...] = ()

    def of(self, name: str) -> Recipe:
        """Return the recipe of a tensor."""
        found = self._last(name)
        return self.default if found is None else found.recipe

    def used(self, names: Iterable[str]) -> list[Recipe]:
        """Return the recipes of some tensors, each once, the first needed first."""
        return distinct(map(self.of, names))

    def check(self, path: Path, names: Iterable[str], plan: Mapping[str, str | None]) -> None:
        """Refuse a pattern that decides nothing.

        names: of all tensors of a file.   plan: tensor -> why it is left out, None where it is taken; without those nobody chose.
        Raises: FileError (it matches no tensor, or none that is taken, or later patterns take all that it matches).
        """
        known = list(names)
        for pattern in self.patterns:
            mine = [name for name in known if pattern.matches(name)]
            if not mine:
                raise FileError(f"{path}: {pattern} matches no tensor: it holds {', '.join(known[:3])}, ...")
            taken = [name for name in mine if name in plan and plan[name] is None]
            if not taken:
                why = plan.get(mine[0], "not chosen by --select")
                raise FileError(f"{path}: {pattern} matches no tensor that is taken: {mine[0] or 'the array'}: {why}")
            if all(self._last(name) is not pattern for name in taken):
                raise FileError(f"{path}: {pattern} decides nothing: {self._last(taken[0])} stands after it and matches {taken[0]} too")

    def _last(self, name: str) -> Pattern | None:
        return next((pattern for pattern in reversed(self.patterns) if pattern.matches(name)), None)
