"""Several products at once: rows of a in groups, each with a matrix of b of its own (experts), or a batch of equal products.

They are a choice among the outputs of one plain product: rows [T, K] times all matrices one below the other [E x N, K]. A set that is
proven for the plain product is proven for each group of it, and what a wrong expert would give is known too. Not here: the sets (sets.py).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np

from emu.base.errors import OperandError
from emu.check.matmul.numbers import Bits, Draws, Ints
from emu.check.matmul.pair import Pair, Side
from emu.engines.numpy.layout import places
from emu.spec import derive
from emu.spec.models import Layout

TILE: Final = 128  # rows of a tile of scales in memory
SPREAD: Final = (0, 3, -2, 2, -1, 1, -3)  # exponents by which the scales of one expert after the other differ


@dataclass(frozen=True, eq=False)
class Groups:
    """Which rows of a meet which matrix of b.

    starts, sizes: of each group, in rows of a; rows between groups, and behind the last, belong to none.   rows: of a.   columns: N.
    stacked: a batch, whose operands have three axes.   shape: E, M, N, K as it was asked for.
    """

    starts: Ints
    sizes: Ints
    rows: int
    columns: int
    stacked: bool
    shape: tuple[int, ...]

    @property
    def owner(self) -> Ints:
        """The matrix of each row; of rows that belong to no group, any."""
        out = np.zeros(self.rows, np.int64)
        for group, (first, size) in enumerate(zip(self.starts.tolist(), self.sizes.tolist(), strict=True)):
            out[first : first + size] = group
        return out

    @property
    def live(self) -> Bits:
        """Which rows belong to a group."""
        out = np.zeros(self.rows, bool)
        for first, size in zip(self.starts.tolist(), self.sizes.tolist(), strict=True):
            out[first : first + size] = True
        return out

    @property
    def word(self) -> str:
        """What a matrix of b is called."""
        return "batch entry" if self.stacked else "expert"

    def of(self, table: Any, rows: Ints | None = None, owner: Ints | None = None) -> Any:
        """Return [T, N] of what all rows give with all matrices, [T, E x N]. rows, owner: others than each row and its own matrix."""
        rows = np.arange(self.rows) if rows is None else rows
        return table.reshape(self.rows, len(self.sizes), self.columns)[rows, self.owner if owner is None else owner]

    def offsets(self) -> Bits:
        """Return the first row of each group and the end of the last, int32 [E + 1]."""
        return np.array([*self.starts, (self.starts + self.sizes)[-1]], np.int32)


def spread(groups: Groups | None) -> dict[str, Any]:
    """Return by how many powers of two the scales of each row's expert differ from those of the first, [T, 1]; {} where all share one."""
    if groups is None or groups.stacked:
        return {}
    more = np.array(SPREAD)[groups.owner % len(SPREAD)][:, None]
    return {"tb": more, "alpha": more}


def of_groups(asked: Any, table: Any) -> Any:
    """Return what belongs to the outputs, of a table over all rows of a and of b, or of the outputs alone. asked: Operands."""
    return table if asked.groups is None or table.shape == asked.sums.shape else asked.groups.of(table)


def column(asked: Any, i: int, j: int) -> int:
    """Return the row of b that an output's column is of."""
    return j if asked.groups is None else int(asked.groups.owner[i]) * int(asked.groups.columns) + j


def default_grouped(step: int, batched: bool, rows: int) -> list[tuple[int, ...]]:
    """Return E, M, N, K off the tiles; K a multiple of step, N (in a batch M too) of rows. M: rows of all groups, in a batch of each."""
    found = [(3, 29, 37, 3 * step), (5, 97, 19, 5 * step), (1, 33, 17, 2 * step), (4, 261, 9, step), (8, 5, 33, 9 * step)]
    found += [(2, 1, 1, 33 * step), (3, 19, 7, 257 * step)]
    if batched:
        found = [(3, 16, 37, 3 * step), (5, 17, 19, 5 * step), (1, 33, 17, 2 * step), (2, 130, 9, step), (7, 1, 33, 9 * step)]
        found.append((2, 9, 5, 257 * step))
    up = [(e, -(-m // rows) * rows if batched else m, -(-n // rows) * rows, k) for e, m, n, k in found]
    return list(dict.fromkeys(up))


def checked_grouped(shapes: Iterable[Sequence[int]] | None, pair: Pair, batched: bool) -> list[tuple[int, ...]]:
    """Return the shapes to ask, E, M, N, K each. Raises: OperandError (no such products; a tile of scales that two of them share)."""
    if not batched and pair.a.rows > 1:
        raise OperandError(f"{pair.text}: rows of a share scales in tiles of {pair.a.rows}, which groups would cut: name another recipe")
    if shapes is None:
        return default_grouped(pair.step if pair.step > 8 else 16, batched, max(pair.a.rows, pair.b.rows))
    found = [tuple(int(length) for length in shape) for shape in shapes]
    if not found:
        raise OperandError("shapes: give at least one, or leave them out")
    for shape in found:
        if len(shape) != 4 or min(shape) < 1 or shape[3] % pair.step or shape[2] % pair.b.rows or shape[1] % pair.a.rows:
            what = "E, M, N, K with M the rows of " + ("each" if batched else "all groups")
            tiles = f", N a multiple of {pair.b.rows}" if pair.b.rows > 1 else ""
            raise OperandError(f"shape {'x'.join(map(str, shape))}: write {what}, each at least 1, K a multiple of {pair.step}{tiles}")
    return found


def groups_of(shape: tuple[int, ...], batched: bool, align: int, turn: int, draws: Draws) -> Groups:
    """Return groups of a shape E, M, N, K. turn: uneven with an empty one, empty at both ends, all rows in one, as equal as can be."""
    count, m, n, _ = shape
    if batched:
        return Groups(np.arange(count) * m, np.full(count, m), count * m, n, True, shape)
    kind = turn % 4
    sizes = np.zeros(count, np.int64)
    if kind == 2:
        sizes[turn // 4 % count] = m
    elif kind == 3:
        sizes[:] = m // count
        sizes[: m % count] += 1
    else:
        among = np.arange(count)
        if count > 2:
            among = among[1:-1] if kind == 1 else np.delete(among, 1 + turn // 4 % (count - 1))
        cuts = np.sort(draws.below(m + 1, len(among) - 1)) if len(among) > 1 else np.zeros(0, np.int64)
        sizes[among] = np.diff([0, *cuts, m])
    taken = -(-sizes // align) * align
    return Groups(np.cumsum(taken) - taken, sizes, m if align == 1 else (-(-m // align) + count) * align, n, False, shape)


def plain_shape(shape: tuple[int, ...], groups: Groups) -> tuple[int, int, int]:
    """Return M, N, K of the plain product that holds all outputs of the groups."""
    return groups.rows, shape[0] * shape[2], shape[3]


def grouped(asked: Any, groups: Groups, bits: int) -> Any:
    """Return the operands of a plain product as those of groups. asked: Operands.   bits: of the accumulator."""
    parts = {name: groups.of(np.broadcast_to(getattr(asked, name), (groups.rows, len(asked.b)))) for name in ("sums", "unit", "room")}
    odd = (np.abs(parts["sums"]) >= 1 << bits - 1) & (parts["sums"] & 1 == 1) & groups.live[:, None]
    return replace(asked, **parts, full=int(odd.sum()) if asked.full else 0, groups=groups)


def picked(asked: Any, rows: Sequence[Ints], matrices: Sequence[int], align: int) -> tuple[Any, Ints, Ints]:
    """Return operands of other groups: of each new group the old rows and the old matrix. Beside it where the rows are now, and were."""
    groups: Groups = asked.groups
    sizes = np.array([len(found) for found in rows], np.int64)
    taken = -(-sizes // align) * align
    starts = np.cumsum(taken) - taken
    old = np.concatenate(rows).astype(np.int64)
    now = np.concatenate([first + np.arange(size) for first, size in zip(starts, sizes, strict=True)]).astype(np.int64)
    source = np.zeros(int(taken.sum()), np.int64)
    source[now] = old
    n = groups.columns
    below = (np.asarray(matrices)[:, None] * n + np.arange(n)).reshape(-1)
    shape = (len(matrices), int(sizes[0]) if groups.stacked else int(sizes.sum()), *groups.shape[2:])
    new = Groups(starts, sizes, len(source), n, groups.stacked, shape)
    moved = {name: getattr(asked, name)[source] for name in ("a", "sums", "unit", "room")}
    scales = {"sa": None if asked.sa is None else asked.sa[source], "sb": None if asked.sb is None else asked.sb[below]}
    return replace(asked, **moved, **scales, b=asked.b[below], groups=new), now, old


def scale_starts(starts: Any, sizes: Any) -> Ints:
    """Return where the scales of each group begin in rows of memory, and their end, when every group has whole tiles. int64 [E + 1]."""
    taken = -(-np.asarray(sizes, np.int64) // TILE) * TILE
    return np.array([0, *np.cumsum(taken)], np.int64)


def tiled(codes: Bits, starts: Any, sizes: Any, layout: Layout, fill: int) -> Bits:
    """Return scale codes [T, blocks] in memory, group after group in whole tiles; fill: what lies in the padding."""
    begin = scale_starts(starts, sizes)
    across = -(-codes.shape[1] // 4) * 4
    memory = np.full(int(begin[-1]) * across, fill, codes.dtype)
    for first, size, at in zip(np.asarray(starts).tolist(), np.asarray(sizes).tolist(), begin[:-1].tolist(), strict=True):
        if size:
            memory[at * across + places(size, codes.shape[1], layout)] = codes[first : first + size]
    return memory


def padding(side: Side) -> int:
    """Return the scale code in padding: the largest finite one, so that whoever reads it is seen."""
    assert side.scale is not None
    return int(derive.codes(side.scale).max_code)
