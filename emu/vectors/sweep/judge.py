"""One leaf: the same inputs through every engine, equal or the first that differs; `exact` at chosen inputs; the digest of the codes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from functools import partial
from hashlib import sha256
from itertools import pairwise
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from emu.base import philox
from emu.base.caches import bounded
from emu.base.errors import EngineError, OpenError, OperandError
from emu.engines.exact.convert import convert_code
from emu.engines.exact.decode import codebook_values, magnitude_of
from emu.engines.exact.round import locate
from emu.engines.numpy.convert import element_random
from emu.engines.run import run_convert
from emu.engines.table import TABLE
from emu.spec import derive
from emu.spec.models import Format, Policy
from emu.spec.models.format import CodebookFacts
from emu.spec.models.policy import BySign, Entry
from emu.vectors.sweep.inputs import Codes, Piece, leaf_codes, pieces, special_classes
from emu.vectors.sweep.space import MARKERS, Sweep

STRATA: Final = 1 << 15  # of a binary32 sweep: one sample in each
ROW_SAMPLES: Final = 16  # of a row of a random sweep
NEAR: Final = range(-3, 4)  # ulps of the source around a threshold
OPEN_WORDS: Final = ("open", "refuse")
Places = NDArray[np.signedinteger]


class Leaf(NamedTuple):
    """What one leaf gave. digest: sha256 of its codes, one byte each, in order.   exact: inputs the reference model derived.
    difference: one line that names the first differing input, or None."""

    digest: str
    inputs: int
    exact: int
    difference: str | None = None


def engines_for(sweep: Sweep, wanted: Sequence[str] | None = None) -> tuple[str, ...]:
    """Return the engines besides the reference model that can do a sweep, in the order of the engine table; torch stays out of digests.

    wanted: only these; one of them that cannot is left out.   Raises: EngineError (fewer than one is left).
    """
    rows = dict.fromkeys(row.engine for row in TABLE if row.operation == "convert" and row.engine not in ("exact", "torch"))
    found = tuple(engine for engine in rows if (wanted is None or engine in wanted) and all(_can(engine, sweep)))
    if not found:
        raise EngineError(f"{sweep.name}: none of the engines {', '.join(wanted or rows)} can do it")
    return found


def _can(engine: str, sweep: Sweep) -> Iterator[bool]:
    for leaf in range(len(sweep.roundings)):
        piece = next(pieces(sweep, leaf if sweep.kind == "special" else 0))
        try:
            _answer(engine, sweep, substituted(sweep), piece)
            yield True
        except EngineError:
            yield False


def judge(sweep: Sweep, leaf: int, engines: Sequence[str], codes: range | None = None) -> Leaf:
    """Compare engines and reference model on one leaf. codes: of a finite sweep only these.   Raises: as the engines."""
    digest, inputs, derived = sha256(), 0, 0
    policy = substituted(sweep)
    for piece in pieces(sweep, leaf, codes):
        found = [_answer(engine, sweep, policy, piece) for engine in engines]
        chosen = _chosen(sweep, leaf, piece, codes)
        expected = np.array([_exact(sweep, policy, piece, place) for place in chosen.tolist()], np.uint8)
        wrong = [other != found[0] for other in found[1:]]
        places = [int(np.flatnonzero(mask)[0]) for mask in wrong if mask.any()]
        places += chosen[found[0][chosen] != expected][:1].tolist()
        if places:
            return Leaf("", inputs, derived, _difference(sweep, policy, piece, min(places), dict(zip(engines, found, strict=True))))
        digest.update(found[0].tobytes())
        inputs, derived = inputs + piece.codes.size, derived + chosen.size
    if sweep.kind == "special":
        compared, difference = _raising(sweep, leaf, engines)
        return Leaf(digest.hexdigest(), inputs, derived + compared, difference)
    return Leaf(digest.hexdigest(), inputs, derived)


def substituted(sweep: Sweep) -> Policy:
    """Return the policy with codes in the place of `open` and `refuse`, so that whole arrays have an answer."""
    if sweep.kind != "special":
        return sweep.policy
    return sweep.policy.model_copy(update={"facts": {sweep.fmt.id: _answered(sweep.entry)}})


def _answered(entry: Entry) -> Entry:
    pairs = {name: getattr(entry, name) for name in ("nan", "inf", "zero", "overflow_nan")}
    known = {
        name: BySign(
            positive=MARKERS.positive if pair.positive in OPEN_WORDS else pair.positive,
            negative=MARKERS.negative if pair.negative in OPEN_WORDS else pair.negative,
        )
        for name, pair in pairs.items()
        if pair is not None
    }
    return entry.model_copy(update=known)


def _answer(engine: str, sweep: Sweep, policy: Policy, piece: Piece) -> Codes:
    return run_convert(piece.codes, sweep.source, sweep.fmt, piece.rounding, policy, piece.random, engine)


def _exact(sweep: Sweep, policy: Policy, piece: Piece, place: int) -> int:
    """Return the reference model's code of one input of a piece."""
    random = None
    if piece.random is not None:
        lanes, _ = piece.rounding.random_operand
        group = slice(place // lanes, place // lanes + 1)
        drawn = element_random(piece.random[group], piece.rounding, (lanes,))
        random = None if drawn is None else int(drawn[place % lanes])
    return convert_code(int(piece.codes[place]), sweep.source, sweep.fmt, piece.rounding, policy, random)


def _difference(sweep: Sweep, policy: Policy, piece: Piece, place: int, found: dict[str, Codes]) -> str:
    codes = ", ".join(f"{engine} {int(codes[place]):#x}" for engine, codes in found.items())
    random = "" if piece.random is None else f" in row {piece.row} of random operands"
    digits = derive.codes(sweep.source).bits // 4
    return (
        f"{sweep.name} ({piece.rounding.id}): first differing input {int(piece.codes[place]):#0{digits + 2}x}{random}: "
        f"{codes}, exact {_exact(sweep, policy, piece, place):#x}"
    )


def _raising(sweep: Sweep, leaf: int, engines: Sequence[str]) -> tuple[int, str | None]:
    """Compare the engines with the reference model under the policy as it stands, code by code, where it may be open or refuse."""
    compared = 0
    for code in _representatives(sweep.source):
        piece = Piece(sweep.roundings[leaf], np.array([code], special_classes(sweep.source)[0].dtype))
        expected = _outcome(partial(_exact, sweep, sweep.policy, piece, 0))
        for engine in engines:
            found = _outcome(partial(_first_answer, engine, sweep, piece))
            if found != expected:
                return compared, f"{sweep.name} ({piece.rounding.id}): first differing input {code:#x}: {engine} {found}, exact {expected}"
        compared += 1
    return compared, None


def _first_answer(engine: str, sweep: Sweep, piece: Piece) -> int:
    return int(_answer(engine, sweep, sweep.policy, piece)[0])


def _outcome(call: Callable[[], int]) -> str:
    try:
        return f"{call():#x}"
    except OpenError:
        return "open"
    except OperandError:
        return "refused"


def _representatives(source: Format) -> list[int]:
    """Return special codes of every class: both signs, first and last payload, and each single payload bit."""
    derived = derive.codes(source)
    assert derived.inf is not None
    payloads = [1 << place for place in range((derived.inf & -derived.inf).bit_length() - 1)]
    magnitudes = [0, derived.inf, (1 << derived.magnitude_bits) - 1, *(derived.inf | payload for payload in payloads)]
    return [sign | magnitude for magnitude in magnitudes for sign in (0, derived.sign_bit)]


def _chosen(sweep: Sweep, leaf: int, piece: Piece, codes: range | None) -> Places:
    """Return the places of a piece at which the reference model joins, ascending."""
    if sweep.kind == "special":
        return np.flatnonzero(np.isin(piece.codes, _representatives(sweep.source)))
    if sweep.kind == "random":
        return _row_samples(sweep, piece)
    if derive.codes(sweep.source).bits <= 16:
        return np.arange(piece.codes.size)
    wanted = _listed(sweep.source, sweep.fmt), _strata(sweep.name, derive.codes(sweep.source).bits, leaf_codes(sweep, leaf, codes))
    first, last = int(piece.codes[0]), int(piece.codes[-1])
    return np.unique(np.concatenate([part[(part >= first) & (part <= last)] - first for part in wanted]))


@bounded(4)
def _strata(name: str, bits: int, span: range) -> Places:
    """Return one source code out of each stratum that lies in a span. name: of the sweep; every sweep has samples of its own."""
    size = (1 << bits) // STRATA
    numbers = np.arange(span.start // size, -(-span.stop // size), dtype=np.int64)
    drawn = philox.words(0, numbers.size, int(numbers[0]), philox.stream_of(name)).astype(np.int64) % size
    found = numbers * size + drawn
    return found[(found >= span.start) & (found < span.stop)]


@bounded(64)
def _listed(source: Format, fmt: Format) -> Places:
    """Return the source codes near every threshold, at every exponent, and all kinds of special ones, ascending."""
    derived = derive.codes(source)
    assert derived.inf is not None
    near = {locate(point, source).code + step for point in _thresholds(fmt) for step in NEAR}
    binade = derived.inf & -derived.inf
    near |= {start + step for start in range(0, derived.inf, binade) for step in (0, 1, binade // 2, binade - 1)}
    both = {magnitude | sign for magnitude in near if 0 <= magnitude <= derived.max_code for sign in (0, derived.sign_bit)}
    return np.array(sorted(both | set(_representatives(source))), np.int64)


def _thresholds(fmt: Format) -> list[Fraction]:
    """Return every magnitude where some rounding may change its code: values and middles, one value beyond the maximum."""
    if isinstance(fmt.facts, CodebookFacts):
        points = sorted({value.signed for value in codebook_values(fmt)})
    else:
        points = [magnitude_of(code, fmt.facts) for code in range(derive.codes(fmt).max_code + 3)]
    return sorted({abs(point) for point in (*points, *((a + b) / 2 for a, b in pairwise(points)))})


def _row_samples(sweep: Sweep, piece: Piece) -> Places:
    """Return samples of a row: half anywhere, half between the smallest threshold / 256 and twice the largest."""
    derived, points = derive.codes(sweep.source), [point for point in _thresholds(sweep.fmt) if point]
    low, high = locate(points[0] / 256, sweep.source).code, min(derived.max_code, locate(points[-1] * 2, sweep.source).code)
    drawn = philox.words(piece.row, ROW_SAMPLES, 0, philox.stream_of(sweep.name)).astype(np.int64)
    half = ROW_SAMPLES // 2
    inside = low + (drawn[half:] >> 1) % (high - low + 1) + (drawn[half:] & 1) * derived.sign_bit
    return np.unique(np.concatenate([drawn[:half] % piece.codes.size, inside]))
