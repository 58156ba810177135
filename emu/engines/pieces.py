"""A matrix to quantize, cut into pieces for processes that know the same spec, and put together again. Threads of one process: parts.py."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from emu.arrays.values import Codes
from emu.base.errors import EmuError
from emu.engines import parts
from emu.engines.parts import Found
from emu.engines.run import begin_quantize, quantize_by, shared_operands
from emu.spec import get
from emu.spec.ieee import is_binary32
from emu.spec.models import Format, Recipe
from emu.spec.programs.program import quantize_program

PIECE: Final = 1 << 20  # elements of a piece, about


class Piece(NamedTuple):
    """A part of a matrix to quantize, for a process that knows the same spec. recipe, source: ids.   given: operands of the part."""

    recipe: str
    source: str
    engine: str
    codes: Codes
    given: dict[str, Any]


def pieces_of(
    recipe: Recipe,
    codes: Codes,
    source: Format,
    *,
    engine: str,
    tensor_amax: int | None = None,
    random: Codes | None = None,
    signs: int | None = None,
) -> tuple[int, list[Piece]]:
    """Return the axis along which a matrix is cut, and its pieces; no piece where it is too large for one and cannot be cut.

    Raises: as run_quantize, of what it checks first.
    """
    chosen, program, random = begin_quantize(recipe, codes, source, engine, tensor_amax, random)
    cut = None
    if is_binary32(program.arithmetic):
        cut = parts.quantize_cut(program, codes, random, max(1, codes.size // (parts.EACH * PIECE)))
    if cut is None and codes.size > parts.EACH * PIECE:
        return 0, []
    given: dict[str, Any] = {"tensor_amax": tensor_amax, "signs": signs}
    if cut is None:
        return 0, [Piece(recipe.id, source.id, chosen, codes, given | {"random": random})]
    axis, found = cut
    given = shared_operands(program, codes, source, given)
    drawn = [{"random": parts.random_of(program, codes, random, axis, part)} for part in found]
    return axis, [
        Piece(recipe.id, source.id, chosen, parts.at(codes, axis, part), given | its) for part, its in zip(found, drawn, strict=True)
    ]


def quantize_piece(piece: Piece) -> Found | None:
    """Quantize a piece, or return None where it is refused: the whole says why, and where."""
    try:
        return quantize_by(piece.engine, get("recipe", piece.recipe), piece.codes, get("format", piece.source), **piece.given)
    except EmuError:
        return None


def join_pieces(recipe: Recipe, axis: int, found: Sequence[Found]) -> Found:
    """Return codes and levels of a matrix from those of its pieces, in order."""
    if len(found) == 1:
        return found[0]
    levels = parts.joined(quantize_program(recipe), [one[1] for one in found], axis)
    return np.concatenate([one[0] for one in found], axis), levels
