"""What cancels with what: of two blocks that hold +L and -L, all others small, the small terms that survive were added after both met.

The method is that of FPRev (Xie, Gao, Sun, "Revealing floating-point accumulation orders", 2024), with block scales for the range that
4-bit codes lack. It sees whole blocks; what is seen is an observation, and no name rests on it alone.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from emu.check.matmul.envelope import values_of
from emu.check.matmul.numbers import exact_of
from emu.check.matmul.pair import Pair, Side
from emu.check.matmul.sets import Limits, palette
from emu.contracts.form import integer_dtype
from emu.identify.matmul.questions import Question

REACH: Final = 8  # exponents of the scales
NEEDED: Final = 34  # powers of two from a small product to L
MOST: Final = 24  # blocks that are looked at
CALLS: Final = 48
SHOWN: Final = 160  # characters of a tree

Tree = Any  # a number of a block, or a list of trees


def survivors(target: Any, pair: Pair, shape: tuple[int, int, int], wants: tuple[str, ...]) -> Any:
    """Return [blocks, blocks] counts of the small terms that survive, 0 on the diagonal; None where blocks have no such range, or where the
    kernel gives no counts. Raises: TargetError.
    """
    levels = [_levels(side) for side in (pair.a, pair.b)]
    rows, blocks = min(shape[0], shape[1]), shape[2] // pair.step
    if None in levels or not 3 <= blocks <= MOST or blocks * blocks > 2 * CALLS * rows:
        return None
    (a, low_a, high_a), (b, low_b, high_b) = levels  # type: ignore[misc]
    if high_a + high_b - low_a - low_b < NEEDED:
        return None
    pairs = [(i, j) for i in range(blocks) for j in range(i + 1, blocks)]
    out = np.zeros((blocks, blocks), np.int64)
    for first in range(0, len(pairs), rows):
        some = pairs[first : first + rows]
        left = _operands(pair.a, a, some, shape[0], shape[2], pair.step, True)
        right = _operands(pair.b, b, some, shape[1], shape[2], pair.step, False)
        question = Question(pair, *left, *right, np.arange(rows), np.arange(rows))
        question.ask(target, wants)
        found = values_of(np.ascontiguousarray(np.diagonal(question.got)), pair.out)[: len(some)] / 2.0 ** (low_a + low_b)
        if not np.isfinite(found).all() or bool((found != np.rint(found)).any()) or bool(((found < 0) | (found > blocks - 2)).any()):
            return None
        for (i, j), count in zip(some, found.astype(int).tolist(), strict=True):
            out[i, j] = out[j, i] = count
    return out


def _levels(side: Side) -> tuple[tuple[int, int, int, int, int], int, int] | None:
    """Return (small element, large, minus large, small scale, large scale) codes and the exponents of small and large values."""
    if side.scale is None or side.rows > 1:
        return None
    found = palette(side, Limits())
    value = exact_of(found.short, side.element)
    ones = [(int(e), int(code), int(n)) for n, e, code in zip(value.n, value.e, found.short, strict=True) if abs(n) == 1]
    plus, minus = [item for item in ones if item[2] > 0], [item for item in ones if item[2] < 0]
    near = (found.n == 1) & (np.abs(found.top) <= REACH)
    if not plus or not near.any() or max(plus)[0] not in {item[0] for item in minus}:
        return None
    low, high = int(found.scales[near][found.top[near].argmin()]), int(found.scales[near][found.top[near].argmax()])
    opposite = next(item[1] for item in minus if item[0] == max(plus)[0])
    ends = int(found.top[near].min()) + min(plus)[0], int(found.top[near].max()) + max(plus)[0]
    return (min(plus)[1], max(plus)[1], opposite, low, high), *ends


def _operands(side: Side, codes: Any, pairs: list[tuple[int, int]], rows: int, k: int, unit: int, signed: bool) -> tuple[Any, Any]:
    small, large, minus, low, high = codes
    table = np.full((rows, k), side.zero, np.uint8)
    table[:, ::unit] = small
    scales = np.full((rows, k // side.size), low, integer_dtype(side.scale))
    for row, (i, j) in enumerate(pairs):
        table[row, i * unit], table[row, j * unit] = large, minus if signed else large
        for at in (i, j):
            scales[row, at * unit // side.size : (at + 1) * unit // side.size] = high
    return table, scales


def tree_of(counts: Any) -> Tree:
    """Return the tree of blocks that the counts show: of two blocks, the fewer survive, the later they meet."""
    return _tree(counts, list(range(len(counts))))


def _tree(counts: Any, members: list[int]) -> Tree:
    if len(members) == 1:
        return members[0]
    least = min(counts[i, j] for i in members for j in members if i != j)
    left, parts = list(members), []
    while left:
        part, fresh = [left.pop(0)], [0]
        while fresh:
            at = part[fresh.pop()]
            near = [other for other in left if counts[at, other] > least]
            left = [other for other in left if other not in near]
            fresh += range(len(part), len(part) + len(near))
            part += near
        parts.append(sorted(part))
    if len(parts) == 1:  # the counts are those of no tree
        return members
    return [_tree(counts, part) for part in parts]


def leaves(tree: Tree) -> list[int]:
    """Return the blocks of a tree."""
    return [tree] if isinstance(tree, int) else sorted(leaf for part in tree for leaf in leaves(part))


def words(counts: Any) -> str:
    """Return what the counts say, in words."""
    size = len(counts)
    if (counts + np.eye(size, dtype=int) * (size - 2) == size - 2).all():
        return f"all of {size - 2} small terms survive every pair: nothing is lost within 2^{NEEDED}"
    return f"{_shape(tree_of(counts))} ({size} blocks)"


def _shape(tree: Tree) -> str:
    steps = _comb(tree)
    if steps is not None:
        sizes = [len(step) for step in steps]
        first, last = steps[0], steps[-1]
        along = "ascending" if max(first) < min(last) else "descending" if min(first) > max(last) else "in another order"
        if sizes[0] <= 2 and set(sizes[1:]) <= {1}:
            return f"one block after the other, {along}"
        whole = f"steps of {max(sizes)} blocks" if len(set(sizes)) == 1 else f"steps of {', '.join(map(str, sizes))} blocks"
        return f"{whole}, {along}"
    text = _brackets(tree)
    return text if len(text) <= SHOWN else f"{text[:SHOWN]} ..."


def _brackets(tree: Tree) -> str:
    """Return a tree as brackets around what is added first; neighbours as a range."""
    if isinstance(tree, int):
        return str(tree)
    if all(isinstance(part, int) for part in tree) and len(tree) > 2 and tree == list(range(tree[0], tree[-1] + 1)):
        return f"({tree[0]}-{tree[-1]})"
    return f"({' '.join(_brackets(part) for part in tree)})"


def _comb(tree: Tree) -> list[list[int]] | None:
    """Return the blocks of each step, the first step first; None where the tree is no chain of steps."""
    if isinstance(tree, int):
        return [[tree]]
    deep = [part for part in tree if not isinstance(part, int) and any(not isinstance(leaf, int) for leaf in part)]
    flat = [part for part in tree if not isinstance(part, int) and all(isinstance(leaf, int) for leaf in part)]
    single = [part for part in tree if isinstance(part, int)]
    if len(deep) + (len(flat) if not deep else 0) > 1:
        return None
    inside = deep or flat
    if not inside:
        return [single]
    found = _comb(inside[0]) if deep else [list(flat[0])]
    if found is None:
        return None
    last = single + [leaf for part in flat if part is not inside[0] for leaf in part]
    return [*found, last] if last else found
