"""What a wrong kernel of several products did: rows that meet another expert, rows of a neighbouring group, scales that lie elsewhere.

Every mistake is other rows of a, another matrix of b or another tensor scale for some outputs; what each would give is looked up in the
products of all rows with all matrices, which are exact. Not here: mistakes that a single product can have too (locate.py).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from emu.check.matmul.groups import TILE, Groups, padding, scale_starts, spread, tiled
from emu.check.matmul.numbers import Bits, Ints
from emu.engines.numpy.layout import places
from emu.spec import get

Case = Any  # of emu.check.matmul.locate
Found = dict[str, Any]


def wrong_groups(case: Case) -> Iterator[Found]:
    """Yield the mistakes that give all outputs of a question; none for a single product."""
    groups = case.asked.groups
    if groups is None:
        return
    yield from _scales(case, groups)
    table = _table(case, case.asked.sa, case.asked.sb)
    for text, rows, matrix, scale in _maps(groups):
        if case.gives(_picked(case, groups, table, rows, matrix, scale)):
            yield {"hypothesis": text}
    yield from _single(case, groups, table)


def _table(case: Case, sa: Bits | None, sb: Bits | None) -> Any:
    """Return what every row gives with every row of b, before tensor scales."""
    asked, pair = case.asked, case.pair
    return case.sums(pair.a.values(asked.a, sa), pair.b.values(asked.b, sb))


def _picked(case: Case, groups: Groups, table: Any, rows: Ints, matrix: Ints, scale: Ints) -> Any:
    """Return sums of other rows and matrices, with the tensor scale of an expert: in units of the row's own."""
    found = groups.of(table, rows, matrix)
    shift = _power(case, groups, scale) - _power(case, groups, groups.owner)
    return np.ldexp(found, shift)


def _power(case: Case, groups: Groups, owner: Ints) -> Any:
    """Return the exponents of the scales that an expert has of its own, [T, 1]."""
    of_first = [name for name in spread(groups) if name in case.powers]
    own = np.zeros((groups.rows, 1), np.int64)
    for name in of_first:
        each = np.zeros(len(groups.sizes), np.int64)
        each[groups.owner] = np.ravel(case.powers[name])
        filled = spread(Groups(np.arange(len(each)), np.ones_like(each), len(each), 1, False, groups.shape))[name].ravel()
        own += (filled - filled[0])[owner][:, None]
    return own


def _maps(groups: Groups) -> Iterator[tuple[str, Ints, Ints, Ints]]:
    """Yield (words, rows, matrices, tensor scales) of what whole kernels do wrong."""
    rows, owner, count, word = np.arange(groups.rows), groups.owner, len(groups.sizes), groups.word
    if count > 1:
        yield f"the tensor scale of the first {word} is used for all", rows, owner, np.zeros_like(owner)
        yield f"the tensor scale of the next {word} is used", rows, owner, (owner + 1) % count
        yield f"the tensor scale of the previous {word} is used", rows, owner, (owner - 1) % count
        others = {
            "the next": (owner + 1) % count, "the previous": (owner - 1) % count, "the first": 0 * owner, "the last": 0 * owner + count - 1,
        }  # fmt: skip
        for which, other in others.items():
            yield f"rows meet the weights of {which} {word}", rows, other, other
            yield f"rows meet the weights of {which} {word}, with their own tensor scale", rows, other, owner
        backward, many = count - 1 - owner, "batch entries" if groups.stacked else f"{word}s"
        yield f"the {many} are taken from the last to the first", rows, backward, backward
    if groups.stacked:
        size = int(groups.sizes[0])
        for which, other in (("next", (rows + size) % groups.rows), ("previous", (rows - size) % groups.rows), ("first", rows % size)):
            yield f"rows of a are those of the {which} batch entry", other, owner, owner
            yield f"a batch entry of the result is that of the {which}", other, owner[other], owner[other]
        return
    live = np.flatnonzero(groups.live)
    for step, which in ((1, "late: the first row of a group meets the previous"), (-1, "early: the last row of a group meets the next")):
        near = owner.copy()
        near[live] = owner[np.roll(live, step)]
        near[live[0 if step == 1 else -1]] = owner[live[0 if step == 1 else -1]]
        yield f"offsets are shifted by one row, too {which} expert", rows, near, near
        yield f"rows of a are read one row too {'early' if step == 1 else 'late'}", np.clip(rows - step, 0, groups.rows - 1), owner, owner
    rank = np.cumsum(groups.sizes > 0) - 1
    dense = rank[owner]
    yield "empty groups are not counted: later groups meet the weights of an earlier expert", rows, dense, dense
    packed = rows.copy()
    packed[live] = np.arange(len(live))
    yield "padding is read as data: rows of groups are read as if they lay one behind the other", packed, owner, owner
    first = rows.copy()
    for start, size in zip(groups.starts.tolist(), groups.sizes.tolist(), strict=True):
        first[start : start + size] = np.arange(size)
    yield "every group reads the first rows of a", first, owner, owner


def _scales(case: Case, groups: Groups) -> Iterator[Found]:
    """Scales of another expert, or of a group whose padding was not skipped or was skipped wrongly."""
    asked, pair, count = case.asked, case.pair, len(groups.sizes)
    if asked.sb is not None and count > 1:
        whole = asked.sb.reshape(count, groups.columns, -1)
        tries = {"next": np.roll(whole, -1, 0), "previous": np.roll(whole, 1, 0), "first": np.repeat(whole[:1], count, 0)}
        for which, scales in tries.items():
            if case.gives(_table(case, asked.sa, scales.reshape(asked.sb.shape))):
                yield {"hypothesis": f"b: scales of the {which} {groups.word}"}
    if asked.sa is None:
        return
    if groups.stacked:
        size = int(groups.sizes[0])
        for which, step in (("next", -size), ("previous", size)):
            if count > 1 and case.gives(_table(case, np.roll(asked.sa, step, 0), asked.sb)):
                yield {"hypothesis": f"a: scales of the {which} batch entry"}
        return
    memory = tiled(asked.sa, groups.starts, groups.sizes, get("layout", "sf128x4"), padding(pair.a))
    begin = scale_starts(groups.starts, groups.sizes)[:-1]
    within = np.arange(groups.rows) - groups.starts[groups.owner]
    reads = {
        "padding rows are not skipped: scales of groups are read at the rows of a": np.arange(groups.rows),
        "every group is taken to have one tile of 128 rows of scales": groups.owner * TILE + within,
        "every group reads the scales of the first": within,
        "scales begin one tile of 128 rows too late": begin[groups.owner] + TILE + within,
        "padding is skipped twice: empty groups are taken to have a tile of scales": (
            begin[groups.owner] + TILE * np.cumsum(groups.sizes == 0)[groups.owner] + within
        ),
    }
    for text, where in reads.items():
        scales = _read(memory, where, asked.sa)
        if case.gives(_table(case, scales, asked.sb)):
            yield {"hypothesis": f"a: {text}"}


def _read(memory: Bits, rows: Ints, like: Bits) -> Bits:
    """Return the scale codes that lie at some rows of memory in tiles; behind its end, its last bytes."""
    at = places(int(rows.max()) + 1 if len(rows) else 1, like.shape[1], get("layout", "sf128x4"))
    return memory[np.minimum(at[np.maximum(rows, 0)], memory.size - 1)] if memory.size else like


def _single(case: Case, groups: Groups, table: Any) -> Iterator[Found]:
    """Groups, each wrong in its own way: left zero, another expert's, another's rows; or rows that are others'."""
    wrong = case.wrong.any(axis=1)
    owner, word = groups.owner, groups.word
    bad = sorted(set(owner[wrong].tolist()))
    if len(bad) < max(1, len(groups.sizes)):
        yield from _groups_alone(case, groups, table, bad)
    rows = np.arange(groups.rows)
    found: list[tuple[int, int]] = []
    for row in np.flatnonzero(wrong).tolist()[:8]:
        each = np.full(groups.rows, row)
        for other in np.flatnonzero(groups.live).tolist():
            each[row] = other
            own = _picked(case, groups, table, np.where(rows == row, other, rows), owner, owner)
            if other != row and _row_is(case, own, row):
                found.append((row, other))
                break
        else:
            return
    if len(found) == int(wrong.sum()):
        row, other = found[0]
        text = "a row of a is that of the neighbouring group" if owner[row] != owner[other] else "a row of a is another of its group"
        text = text.replace("group", word) if groups.stacked else text
        yield {"hypothesis": text, "row": row, "taken from": other, word: int(owner[row])}


def _row_is(case: Case, sums: Any, row: int) -> bool:
    """Tell whether a row of sums is what the kernel gave there."""
    return bool(case.agrees(case.encode(sums))[row].all())


def _groups_alone(case: Case, groups: Groups, table: Any, bad: list[int]) -> Iterator[Found]:
    """Some groups are wrong as a whole, and the others right."""
    owner, rows, word, count = groups.owner, np.arange(groups.rows), groups.word, len(groups.sizes)
    inside = np.isin(owner, bad)
    if not case.values(case.got)[inside[:, None] & case.known].any() and case.wrong.any():
        yield {"hypothesis": f"the rows of {'an expert' if word == 'expert' else 'a ' + word} are dropped: left zero", word: _list(bad)}
    for words, same in (("", True), (", with its own tensor scale", False)):
        matrix = owner.copy()
        for group in bad:
            for other in range(count):
                trial = np.where(owner == group, other, owner)
                sums = _picked(case, groups, table, rows, trial, trial if same else owner)
                if other != group and all(_row_is(case, sums, row) for row in np.flatnonzero((owner == group) & groups.live)[:3].tolist()):
                    matrix[owner == group] = other
                    break
        if case.gives(_picked(case, groups, table, rows, matrix, matrix if same else owner)):
            taken = _list([int(matrix[owner == group][0]) for group in bad])
            yield {"hypothesis": f"a group meets the weights of another {word}{words}", word: _list(bad), "taken from": taken}
    stale = rows.copy()
    for group in bad:
        others = [other for other in range(count) if other != group and groups.sizes[other] >= groups.sizes[group]]
        for other in sorted(others, key=lambda other, group=group: (other > group, abs(other - group))):  # type: ignore[misc]
            mine = groups.starts[group] + np.arange(groups.sizes[group])
            trial = rows.copy()
            trial[mine] = groups.starts[other] + np.arange(len(mine))
            sums = _picked(case, groups, table, trial, owner[trial], owner[trial])
            if all(_row_is(case, sums, row) for row in mine[:3].tolist()):
                stale = np.where(np.isin(rows, mine), trial, stale)
                break
    if (stale != rows).any() and case.gives(_picked(case, groups, table, stale, owner[stale], owner[stale])):
        yield {"hypothesis": f"a {'group' if word == 'expert' else word} is stale: its rows are those of another", word: _list(bad)}


def _list(numbers: list[int]) -> Any:
    return numbers[0] if len(numbers) == 1 else " ".join(map(str, numbers))
