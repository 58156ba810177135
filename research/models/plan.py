"""What the study of whole models runs: its cells, those that decide first. Not here: how a cell is measured (study)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import product
from typing import Final

from research import minilm
from research.models import smollm
from research.models.quantizers import SIGN_SETS

COMMAND: Final = "python -m research models run"
RECORD: Final = "docs/evidence/models.json"
E2M1, E1M2 = "e2m1_fp32scale", "e1m2_fp32scale"
GRIDS: Final = (E2M1, E1M2)
CODEBOOK: Final = "study_nf4_fp32scale"
CHOSEN: Final = "chosen"  # each part of the layers in E2M1 as given or in E1M2 rotated, as the record of the parts says
FEEDBACK: Final = "feedback"  # a treatment: weights that make up for each other's errors
DECIDING: Final = (CODEBOOK, "nvfp4_f46_mse", "mxfp4_torchao_floor", "nve0m3", "hif4", "if4_mse")
OTHERS: Final = (
    "mxe1m2_floor", "nvufp4", "nvfp4_te_ref", "nvfp4_modelopt", "nvfp4_compressed_tensors", "nvfp4_torchao", "nvfp4_torchao_1level",
    "nvfp4_f46_mae", "nvfp4_f46_abs_max", "nvfp4_f46_static_4", "nvfp4_f46_static_6", "nvfp4_te_4over6_mse_256", "nvfp4_te_4over6_mae_448",
    "if4_mae", "if4_abs_max", "f46_nvint4", "mxfp4_torchao_ceil", "mxfp4_torchao_even", "mxfp4_torchao_rceil",
)  # fmt: skip
MODES: Final = {"wa": "W4A4", "a": "W16A4", "w": "W4A16"}
OPERANDS: Final = MODES | {"k": "KV4", "": "none"}
MODELS: Final = {"minilm": tuple(minilm.PARTS), "smollm": tuple(smollm.PARTS)}  # model -> parts of its layers
PAIRED: Final = ("lee", "simlex999", "wordsim353")  # MiniLM again, on pairs of texts or words whose likeness people judged
FEW: Final = 3  # sign sets of what explains and does not decide
SIGNS: Final[tuple[int | None, ...]] = (None, *range(SIGN_SETS))


@dataclass(frozen=True)
class Cell:
    """One run of a model over all its documents.

    model: minilm, smollm, or one of PAIRED.   operands: which are quantized, of w (weights), a (activations) and k (keys and values of the
    attention).   recipe: "" for binary32, CHOSEN for a choice part by part.   signs: number of the sign set of the rotation; None: not
    rotated.   only: the one part of the layers that is quantized; "": every part.   treatment: what is done to the error of the weights.
    source: "q4_1" where the weights go through Q4_1 first.   weights: recipe of the weights where it is another one.
    """

    model: str
    operands: str
    recipe: str
    signs: int | None = None
    only: str = ""
    treatment: str = "none"
    source: str = ""
    weights: str = ""

    @property
    def name(self) -> str:
        """The key of the cell's line in the record."""
        way = "raw" if self.signs is None else f"signs{self.signs}"
        recipe = f"{self.weights}+{self.recipe}" if self.weights else self.recipe or "fp32"
        return "/".join((self.model, self.operands, recipe, way, self.only or "all", self.treatment, self.source or "as_is"))


def plan() -> list[Cell]:
    """Return every cell, those that decide first; a cell that needs others stands after them."""
    sets = SIGNS[1:]
    explained = [(E2M1, None), *((E1M2, signs) for signs in sets[:FEW])]
    found = [Cell("smollm", "", "")]
    found += _cells(MODELS, MODES, GRIDS, SIGNS)
    found += [
        Cell(model, "w", recipe, signs, "", name)
        for model, name, (recipe, signs) in product(MODELS, ("signs", "shuffle", "regain"), explained)
    ]
    found += [Cell("minilm", "w", recipe, signs, source="q4_1") for signs, recipe in product(SIGNS, GRIDS)]
    found += _cells(MODELS, MODES, DECIDING[:3], (None,))
    for model, parts in MODELS.items():
        found += [Cell(model, "wa", recipe, signs, part) for part, (recipe, signs) in product(parts, explained)]
    found += _cells(("smollm",), ("k",), (*GRIDS, CODEBOOK), SIGNS)
    found += _cells(MODELS, ("wa",), (CHOSEN,), sets)
    for model, signs in (("minilm", SIGNS), ("smollm", SIGNS[: 1 + FEW])):
        found += [Cell(model, "wa", recipe, one, weights=other) for one, (recipe, other) in product(signs, (GRIDS, GRIDS[::-1]))]
    corrected = ("w", "wa")
    found += [Cell("minilm", mode, recipe, signs, "", FEEDBACK) for signs, recipe, mode in product(SIGNS, GRIDS, corrected)]
    found += [Cell("smollm", mode, recipe, signs, "", FEEDBACK) for recipe, signs in explained[:2] for mode in corrected]
    found += [Cell("minilm", mode, CODEBOOK, None, "", FEEDBACK) for mode in corrected]
    found += [Cell(name, "", "") for name in PAIRED]
    found += _cells(PAIRED, MODES, GRIDS, SIGNS[: 1 + FEW])
    found += _cells(PAIRED, MODES, (CODEBOOK,), (None,))
    found += [Cell("smollm", mode, recipe, signs, "", FEEDBACK) for signs, recipe, mode in product(SIGNS[: 1 + FEW], GRIDS, corrected)]
    found += _cells(("minilm",), MODES, DECIDING[3:], (None,))
    found += _cells(("minilm",), ("wa",), OTHERS, (None,))
    found += _cells(("minilm",), ("wa",), DECIDING, sets)
    found += _cells(("smollm",), ("wa",), (*DECIDING, *OTHERS), (None,))
    found += [Cell("smollm", mode, E1M2, signs, "", FEEDBACK) for signs, mode in product(sets, corrected)]
    return list(dict.fromkeys(found))


def _cells(models: Iterable[str], modes: Iterable[str], recipes: Iterable[str], signs: Iterable[int | None]) -> list[Cell]:
    """Return the cells of every choice; sign sets change last."""
    return [Cell(model, mode, recipe, one) for model, one, mode, recipe in product(models, signs, modes, recipes)]
