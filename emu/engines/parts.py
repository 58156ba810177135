"""One operation on parts of its operands by several threads, with the bits of one piece.

A matrix is cut between tiles, along its rows or, where columns lie in memory, along its columns; never where a step of the recipe takes the
maximum or the sum of what lies on both sides. What the whole tensor shares is found first and given to each part. Where a part is refused,
the whole is done again in one piece, so that the message names the place in the whole.
Not here: which engine (emu.engines.table), the threads of dot products (each engine has its own).   Tests: tests/ops/test_api_jobs.py.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from math import lcm
from typing import Any, TypeVar

import numpy as np

from emu.arrays.values import Codes, whole_number
from emu.base.errors import EmuError, OperandError
from emu.spec import get
from emu.spec.models import Rounding, Transform
from emu.spec.models.rounding import Word
from emu.spec.programs.program import Program
from emu.spec.programs.types import extent_of

T = TypeVar("T")
LEAST = 1 << 18  # elements of a part: for fewer a thread costs more than it saves
NATIVE = 16  # times as many for each thread where the kernels work: they are as fast as the memory, or nearly
EACH = 4  # parts of a thread
Cut = tuple[int, list[slice]]  # the axis, and the parts along it
Found = tuple[Codes, dict[str, Codes]]


def thread_count(jobs: Any) -> int:
    """Return a number of threads. Raises: OperandError (no integer from 1 to 256)."""
    count = whole_number(jobs, "jobs")
    if not 1 <= count <= 256:
        raise OperandError(f"jobs must be 1 to 256 threads, not {count}")
    return count


def worth(jobs: int, engine: str, size: int) -> int:
    """Return how many of some threads pay for themselves. size: elements of the whole."""
    return max(1, min(jobs, size // (NATIVE * LEAST))) if engine == "native" else jobs


def in_threads(work: Callable[[slice], T], parts: Sequence[slice], jobs: int) -> list[T] | None:
    """Return what each part gives, in order; None where there is one part, or a part is refused: the whole says why."""
    if len(parts) < 2:
        return None
    with ThreadPoolExecutor(jobs) as pool:
        running = [pool.submit(work, part) for part in parts]
        try:
            return [each.result() for each in running]
        except EmuError:
            return None
        finally:
            for each in running:
                each.cancel()


def array_in_threads(work: Callable[[slice, Codes], Codes], parts: Sequence[slice], jobs: int, out: Codes, axis: int = 0) -> Codes | None:
    """Return an array filled with what each part gives; None as in_threads.

    work: a part and its place in `out` -> that place, filled, or another array, which is then copied there.
    """
    last = parts[-1].start if parts else 0  # its place goes on to the end: what it gives may be padded

    def one(part: slice) -> None:
        place = at(out, axis, slice(part.start, out.shape[axis] if part.start == last else part.stop))
        found = work(part, place)
        if found is not place:
            place[...] = found

    return None if in_threads(one, parts, jobs) is None else out


def slices(length: int, step: int, size: int, jobs: int) -> list[slice]:
    """Return parts of an axis that begin at multiples of a step: some for each thread, so that one that is late holds up little.

    size: elements of the whole, of which a part has LEAST or more.
    """
    count = max(1, min(-(-length // step), size // LEAST, EACH * jobs))
    each = max(1, -(-length // (step * count))) * step
    return [slice(begin, min(begin + each, length)) for begin in range(0, length, each)]


def of_elements(size: int, random: Codes | None, rounding: Rounding | None, jobs: int) -> list[slice]:
    """Return parts of elements in a row; where some share a random word, none is cut through."""
    return slices(size, 1 if random is None or rounding is None else _lanes(rounding), size, jobs)


def _lanes(rounding: Rounding) -> int:
    return rounding.facts.random.lanes if isinstance(rounding.facts.random, Word) else 1


def words_of(random: Codes | None, rounding: Rounding | None, part: slice) -> Codes | None:
    """Return the random words of a part of elements in a row."""
    if random is None or rounding is None:
        return None
    lanes = _lanes(rounding)
    return random.reshape(-1)[part.start // lanes : -(-part.stop // lanes)]


def cut_of(program: Program, codes: Codes, jobs: int) -> Cut | None:
    """Return how a matrix is cut for a program, or None where that would change bits or there is nothing to cut."""
    for axis in (1, 0) if by_columns(codes) else (0, 1):
        step = _step(program, axis)
        found = slices(codes.shape[axis], step, codes.size, jobs) if step else []
        if len(found) > 1:
            return axis, found
    return None


def _step(program: Program, axis: int) -> int:
    """Return what a part is a multiple of along an axis; 0 where a step joins what lies along the whole of it."""
    steps = [program.block.facts.shape[axis]]
    for item in program.instructions:
        given = [program.types[name].extent[axis] for name in item.args if isinstance(name, str)]
        mine = item.type.extent[axis]
        if mine == 0 and any(given):
            return 0
        steps += [each for each in (mine, *given) if each]
        if item.op == "transform" and axis == 1:
            rotation: Transform = get("transform", item.step.transform)
            steps.append(rotation.facts.size)
    return lcm(*steps)


def quantized(
    work: Callable[[Codes, Codes | None, Codes], Found], program: Program, codes: Codes, random: Codes | None, out: Codes, jobs: int
) -> Found | None:
    """Quantize a matrix in parts, or return None where it is done in one piece.

    work: codes, random integers and place of a part -> codes and levels.   random: as the whole takes them.   out: for the codes.
    """
    cut = quantize_cut(program, codes, random, jobs)
    if cut is None:
        return None
    axis, parts = cut
    levels: dict[int, dict[str, Codes]] = {}

    def one(part: slice, place: Codes) -> Codes:
        found, levels[part.start] = work(at(codes, axis, part), random_of(program, codes, random, axis, part), place)
        return found

    found = array_in_threads(one, parts, jobs, out, axis)
    return None if found is None else (found, joined(program, [levels[part.start] for part in parts], axis))


def quantize_cut(program: Program, codes: Codes, random: Codes | None, jobs: int) -> Cut | None:
    """Return how a matrix is cut to be quantized, or None, as cut_of; no random word that elements share is cut through."""
    cut, drawing = cut_of(program, codes, jobs), program.drawing
    if cut is None or random is None or drawing is None or random.shape == codes.shape:
        return cut
    axis, parts = cut
    return None if axis or any(part.start * codes.shape[1] % _lanes(drawing) for part in parts) else cut


def random_of(program: Program, codes: Codes, random: Codes | None, axis: int, part: slice) -> Codes | None:
    """Return the random integers of a part. random: as the whole takes them, one for each code or words in the order of the elements."""
    if random is None or random.shape == codes.shape:
        return None if random is None else at(random, axis, part)
    columns = codes.shape[1]
    return words_of(random, program.drawing, slice(part.start * columns, part.stop * columns))


def joined(program: Program, levels: Sequence[Mapping[str, Codes]], axis: int) -> dict[str, Codes]:
    """Return the levels of a whole from those of its parts."""
    found = {}
    for level in program.block.facts.levels:
        pieces = [one[level.name] for one in levels]
        found[level.name] = np.concatenate(pieces, axis) if extent_of(level.granularity, program.block)[axis] else pieces[0]
    return found


def dequantized(
    work: Callable[[Codes, dict[str, Codes], Codes], Codes],
    program: Program,
    codes: Codes,
    levels: Mapping[str, Codes],
    out: Codes,
    jobs: int,
) -> Codes | None:
    """Dequantize a matrix in parts, or return None where it is done in one piece. work: codes, levels and place of a part -> values."""
    cut = cut_of(program, codes, jobs)
    if cut is None:
        return None
    axis, parts = cut
    extents = {name: program.types[name].extent[axis] for name in levels}

    def one(part: slice, place: Codes) -> Codes:
        own = {}
        for name, level in levels.items():
            each = extents[name]
            own[name] = at(level, axis, slice(part.start // each, -(-part.stop // each))) if each else level
        return work(at(codes, axis, part), own, place)

    return array_in_threads(one, parts, jobs, out, axis)


def by_columns(array: Codes) -> bool:
    """Tell whether the columns of a matrix lie in memory one after the other."""
    return array.ndim == 2 and abs(array.strides[0]) < abs(array.strides[1])


def at(matrix: Codes, axis: int, part: slice) -> Codes:
    """Return a part of a matrix along an axis; a view."""
    return matrix[:, part] if axis else matrix[part]
