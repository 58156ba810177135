"""Which recipe fills which cell: element format x scale codec. Recipes that nobody published are in emu/analysis/spec."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from emu.base.errors import OperandError
from emu.spec import Recipe, get, load_spec
from emu.spec.models.block import OneElement

GRIDS: Final = ("e2m1", "e1m2", "int4", "e0m3")
CELLS: Final[dict[str, tuple[str, ...]]] = {  # scale codec: recipes in the order of GRIDS
    "fp32": ("e2m1_fp32scale", "e1m2_fp32scale", "study_int4_fp32scale", "study_e0m3_fp32scale"),
    "ue4m3_fp32": ("nvfp4_te_ref", "nvufp4", "f46_nvint4", "nve0m3"),
    "ue5m3": ("study_e2m1_ue5m3", "study_e1m2_ue5m3", "study_int4_ue5m3", "study_e0m3_ue5m3"),
    "fp32_block32": ("study_e2m1_fp32scale32", "study_e1m2_fp32scale32", "study_int4_fp32scale32", "study_e0m3_fp32scale32"),
    "e8m0_floor": ("mxfp4_torchao_floor", "mxe1m2_floor", "study_mxint4", "study_mxe0m3"),
    "e8m0_even": ("mxfp4_torchao_even", "study_mxe1m2_even", "study_mxint4_even", "study_mxe0m3_even"),
    "e8m0_rceil": ("mxfp4_torchao_rceil", "study_mxe1m2_rceil", "study_mxint4_rceil", "study_mxe0m3_rceil"),
    "e8m0_ceil": ("mxfp4_torchao_ceil", "study_mxe1m2_ceil", "study_mxint4_ceil", "study_mxe0m3_ceil"),
}
FP32_SCALED: Final = (  # one of each element format: the column "fp32" and what other formats have
    *CELLS["fp32"], "study_e2m3_fp32scale", "study_e3m0_fp32scale", "study_e3m2_fp32scale", "study_e4m3_fp32scale",
    "study_e4m3fnuz_fp32scale", "study_e5m2_fp32scale", "study_e5m2fnuz_fp32scale", "study_int8_fp32scale", "study_nf4_fp32scale",
)  # fmt: skip
CODECS: Final = tuple(CELLS)
FOLDER: Final = Path(__file__).with_name("spec")  # recipes for cells that no shipped recipe fills


def load_recipes() -> None:
    """Add the recipes that nobody published to the registry."""
    load_spec(FOLDER)


def recipe_of(element: str, codec: str) -> Recipe:
    """Return the recipe of a cell. Raises: OperandError (no such cell)."""
    load_recipes()
    if codec not in CELLS or element not in GRIDS:
        raise OperandError(f"cell {element} x {codec}: elements are {', '.join(GRIDS)}, codecs {', '.join(CODECS)}")
    found: Recipe = get("recipe", CELLS[codec][GRIDS.index(element)])
    return found


def fp32_scaled() -> dict[str, Recipe]:
    """Return element format -> recipe with blocks of 16 and a binary32 scale, not rotated, for every element format that has one."""
    load_recipes()
    recipes: list[Recipe] = [get("recipe", name) for name in FP32_SCALED]
    elements = [get("block", recipe.facts.block).facts.element for recipe in recipes]
    return {element.format: recipe for element, recipe in zip(elements, recipes, strict=True) if isinstance(element, OneElement)}
