"""identify a rotation: matrix, signs and normalisation from unit vectors; then order of the additions and where they are rounded."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from emu.arrays.values import float_dtype
from emu.base import philox
from emu.base.errors import EmuError, OperandError, TargetError
from emu.check.model import Target
from emu.contracts.rows import unpack
from emu.contracts.transform.cases import directed
from emu.contracts.transform.contract import OTHERS, TransformContract
from emu.engines.exact.decode import decode_code
from emu.engines.run import run_transform
from emu.identify.model import Axis, Departure, Identity, Pair
from emu.identify.rows import KEY, Bits, canonical
from emu.spec import derive
from emu.spec.contract import parse
from emu.spec.models import Format, Transform
from emu.spec.models.transform import TransformFacts
from emu.spec.registry import get, names

SUM_FORMATS: Final = ("fp32", "bf16")
OTHER_SIGNS: Final = 0x1235  # no palindrome of its bits
IGNORED: Final = "other signs change nothing"
OTHERWISE: Final = "other signs are not applied as documented"
RESULTS: Final = {2: "bf16", 4: "fp32", 8: "fp64"}  # by bytes, where a target does not say its result
SHOWN: Final = 4
DRAWN: Final = 256  # random groups


@dataclass(frozen=True)
class Linear:
    """What unit vectors say. signs: bit i set: element i is negated.   scale: of every entry.   known: is it a Hadamard matrix."""

    size: int
    signs: int
    scale: Fraction
    known: bool


@dataclass(frozen=True)
class Signed:
    """What another mask of signs does, in words.   departures: rows where it is not followed.   agreed: rows on which it is."""

    said: str
    departures: tuple[Departure, ...] = ()
    agreed: int = 0


def identify_transform(target: Target, among: Sequence[str] | None) -> Identity:
    """Return which rotation a kernel performs. Raises: TargetError, OperandError (no rotation takes the source format)."""
    chosen = [get("transform", name) for name in among or names("transform")]
    source: Format = get("format", target.source or "bf16")
    size = chosen[0].facts.size
    x = questions(source, chosen)
    raw = _raw(target, x)
    result: Format = get("format", target.result or RESULTS[raw.itemsize])
    linear = _linear(target, source, result, size)
    given = canonical(raw.astype(np.int64), result)
    axes = _axes(linear, chosen)
    right = _compared([(item.id, item) for item in chosen], x, given, source)
    if all(item[0] < len(x) for item in right):
        for to in SUM_FORMATS:
            if all(item[0] < len(x) for item in right):
                right += _compared(list(_changed(chosen[0], linear, result, to)), x, given, source)
    if not right:
        raise OperandError(f"identify: no documented rotation of {size} elements has the result {result.id}")
    best = max(right, key=lambda item: (item[0], item[1] in names("transform")))
    fits = [item for item in right if item[0] == len(x)]
    departures = tuple(_departures(x, best[3], given))
    asked, agreed = len(x), best[0]
    if fits:
        more = drawn(source, size)
        shown = canonical(_given(target, more), result)
        left = [item for item in fits if np.array_equal(_expected(item[2], more, source), shown)]
        if not left:
            best = max((item for item in right if item[1] in names("transform")), key=lambda item: item[0], default=best)
            agreed = best[0]
        wanted = _expected(best[2], more, source)
        departures = departures if left else tuple(_departures(more, wanted, shown))
        asked, agreed = asked + len(more), agreed + int((wanted == shown).all(axis=1).sum())
        fits, best = left, (left or [best])[0]
    plain = [item[1] for item in fits if item[1] in names("transform")]
    kind: Any = "documented" if plain else "variant" if fits else "nearest"
    if plain and best[2].facts.signs_operand != "no":
        other = _other_signs(target, best[2], x, source, result)
        axes.append(Axis("matrix", "signs operand", other.said))
        if other.departures:
            kind, departures, asked, agreed = "nearest", other.departures, asked + len(x), agreed + other.agreed
    found = tuple(plain or [item[1] for item in fits] or [best[1]])
    axes += [Axis("rounding", "order of the additions", " or ".join(item[1] for item in fits) or "none of those known")]
    title = ", ".join(found) if kind != "nearest" else f"nothing documented; nearest {best[1]}"
    title += f"; {axes[-2].finding}" if fits and kind == "nearest" else ""
    pairs = tuple(_pair(best, other, x, given) for other in right if other[1] != best[1])
    return Identity(target.name, target.op, kind, found, title, tuple(axes), pairs, departures, asked, agreed)


def questions(source: Format, chosen: Sequence[Transform]) -> Bits:
    """Return the directed groups of some rotations. [rows, size]."""
    rows: dict[tuple[int, ...], None] = {}
    for item in chosen:
        op = TransformContract.of(parse(f"transform/{item.id}"), source.id)
        for case in directed(op, f"identify_{item.id}"):
            rows.setdefault(tuple(unpack(case.values[0], op.layout.inputs[0])))
    return np.array(list(rows), _unsigned(source))


def drawn(source: Format, size: int) -> Bits:
    """Return random finite groups that confirm what was found. [rows, size]."""
    from emu.engines.exact.encode import code_of_one

    one, sign = code_of_one(source), derive.codes(source).sign_bit
    words = philox.words(KEY, DRAWN * size, 0, philox.stream_of("identify_rotation")).reshape(DRAWN, size).astype(np.int64)
    return (one - (one >> 5) + words % (one >> 4) | (words >> 31) * sign).astype(_unsigned(source))


def _unsigned(fmt: Format) -> str:
    return f"u{float_dtype(fmt).itemsize}"


def _other_signs(target: Target, model: Transform, x: Bits, source: Format, result: Format) -> Signed:
    """Ask another mask of signs. A kernel that ignores it departs if it wants the operand; else its signs are fixed."""
    shown = canonical(_raw(target, x, OTHER_SIGNS).astype(np.int64), result)
    wanted = canonical(run_transform(x, source, model, OTHER_SIGNS, "auto").astype(np.int64), result)
    if (shown == wanted).all():
        return Signed("followed")
    ignored = bool((shown == canonical(_given(target, x), result)).all())
    if ignored and "signs" not in (getattr(target, "wants", None) or ()):
        return Signed("not taken by this kernel")
    signs = {"signs": f"{OTHER_SIGNS:08x}"}
    rows = tuple(replace(row, operands=row.operands | signs) for row in _departures(x, wanted, shown))
    return Signed(IGNORED if ignored else OTHERWISE, rows, int((shown == wanted).all(axis=1).sum()))


def _given(target: Target, x: Bits) -> NDArray[np.int64]:
    return _raw(target, x).astype(np.int64)


def _raw(target: Target, x: Bits, signs: int = 0) -> Bits:
    found = np.asarray(target({"x": x, "signs": np.array(signs, np.uint32)})["values"])
    if found.shape != x.shape:
        raise TargetError("shape", f"identify: values have shape {found.shape}, asked were {x.shape}")
    return found


def _linear(target: Target, source: Format, result: Format, size: int) -> Linear:
    """Ask unit vectors: row i is the matrix times element i."""
    from emu.engines.exact.encode import code_of_one

    x = (np.eye(size, dtype=np.uint32) * code_of_one(source)).astype(_unsigned(source))
    values = [[decode_code(int(code), result) for code in row] for row in _given(target, x)]
    if any(value.kind != "finite" for row in values for value in row):
        return Linear(size, 0, Fraction(0), False)
    entries = [[value.signed for value in row] for row in values]
    scale = abs(entries[0][0])
    signs = sum(1 << i for i, row in enumerate(entries) if row[0] < 0)
    good = all(
        entries[i][j] == scale * (-1 if signs >> i & 1 else 1) * (-1 if (i & j).bit_count() & 1 else 1)
        for i in range(size)
        for j in range(size)
    )
    return Linear(size, signs, scale, good and scale > 0)


def _axes(linear: Linear, chosen: Sequence[Transform]) -> list[Axis]:
    if not linear.known:
        return [Axis("matrix", "matrix", f"no Hadamard matrix of {linear.size} in Sylvester's order")]
    same = [item.id for item in chosen if int(item.facts.signs, 16) == linear.signs]
    return [
        Axis("matrix", "matrix", f"Hadamard, Sylvester's order, {linear.size} elements"),
        Axis("matrix", "signs", f"{linear.signs:#06x}" + (f", those of {', '.join(same)}" if same else ", of no documented rotation")),
        Axis("matrix", "normalisation", f"factor {linear.scale}"),
    ]


def _compared(
    tried: Sequence[tuple[str, Transform]], x: Bits, given: NDArray[np.int64], source: Format
) -> list[tuple[int, str, Transform, NDArray[np.int64]]]:
    """Return (rows that agree, name, rotation, its values) of the rotations whose results have the kernel's format."""
    table = [(name, model, _expected(model, x, source)) for name, model in tried]
    return [(int((mine == given).all(axis=1).sum()), name, model, mine) for name, model, mine in table if mine.shape == given.shape]


def _changed(start: Transform, linear: Linear, result: Format, to: str) -> Iterator[tuple[str, Transform]]:
    """Yield every order of the sum in one format with the signs, factor and result that were found."""
    if not linear.known:
        return
    fixed = {"signs": f"0x{linear.signs:04X}", "scale": str(linear.scale), "result": result.id}
    for order in OTHERS["sum"]:
        try:
            facts = TransformFacts.model_validate(start.facts.model_dump() | fixed | {"sum": order, "sum_format": to})
        except ValueError:
            continue
        said = f"{order} sum in {to}, signs {facts.signs}, factor {facts.scale}, result {facts.result}"
        yield said, start.model_copy(update={"facts": facts})


def _expected(model: Transform, x: Bits, source: Format) -> NDArray[np.int64]:
    try:
        found = run_transform(x, source, model, None, "auto")
    except EmuError:
        return np.zeros((0, 0), np.int64)
    return canonical(found.astype(np.int64), get("format", model.facts.result))


def _departures(x: Bits, mine: NDArray[np.int64], given: NDArray[np.int64]) -> Iterator[Departure]:
    for row in np.flatnonzero((mine != given).any(axis=1))[:SHOWN]:
        at = int(np.flatnonzero(mine[row] != given[row])[0])
        yield Departure({"x": _hex(x[row])}, f"values[{at}]", f"{int(mine[row, at]):#x}", f"{int(given[row, at]):#x}")


def _hex(codes: Bits) -> str:
    return " ".join(f"{int(code):0{2 * codes.dtype.itemsize}x}" for code in codes)


def _pair(best: tuple[Any, ...], other: tuple[Any, ...], x: Bits, given: NDArray[np.int64]) -> Pair:
    rows = np.flatnonzero((best[3] != other[3]).any(axis=1))
    if len(rows):
        row = int(rows[0])
        at = int(np.flatnonzero(best[3][row] != other[3][row])[0])
        return Pair(
            best[1], other[1], "separated", f"values[{at}] {int(best[3][row, at]):x} and {int(other[3][row, at]):x}", {"x": _hex(x[row])}
        )
    if best[2].facts == other[2].facts:
        return Pair(best[1], other[1], "equal", "every input: the same facts")
    return Pair(best[1], other[1], "not separated", f"{len(x)} rows tried")
