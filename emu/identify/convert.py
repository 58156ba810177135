"""identify a convert kernel: format, then rounding, then policy. Not here: quantize kernels (quantize.py)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from emu import philox
from emu.check.model import Target
from emu.errors import EmuError, OperandError, TargetError
from emu.fast import tables
from emu.fast.convert import convert_marked, element_random
from emu.identify.model import Axis, Departure, Identity, Pair
from emu.identify.rows import KEY, OPEN, Bits, canonical
from emu.spec import derive
from emu.spec.contract import parse
from emu.spec.derive import REFUSE
from emu.spec.models import Conversion, Format, Rounding
from emu.spec.models.format import CodebookFacts
from emu.spec.models.rounding import Word
from emu.spec.registry import get, names
from emu.vectors.cases_convert import directed
from emu.vectors.convert_rows import ConvertRows

SHOWN: Final = 4
PARTLY: Final = ", where it answers"
NEAREST: Final = 1  # formats that are looked at where no grid is documented
EXHAUSTED: Final = 16  # bits of sources that are asked whole
WIDEST: Final = 8  # bits of the codes that are looked for


@dataclass(frozen=True)
class Hypothesis:
    """A documented conversion. answers: codes of the source codes that were asked; OPEN where nobody knows, REFUSE where it is refused."""

    fmt: str
    rounding: str
    policy: str
    answers: NDArray[np.int64]

    @property
    def name(self) -> str:
        """The contract."""
        return f"convert/{self.fmt}/{self.rounding}/{self.policy}"


@dataclass(frozen=True)
class Asked:
    """Sources, random integers and what the kernel gave; OPEN where it refuses."""

    source: Format
    x: Bits
    random: NDArray[np.uint64]
    draws: bool
    answers: NDArray[np.int64]
    refused: int


def identify_convert(target: Target, among: Sequence[str] | None) -> Identity:
    """Return which conversion a kernel performs.

    among: ids of formats, roundings and policies; a kind of which none is named is not restricted.
    Raises: TargetError, OperandError.
    """
    source: Format = get("format", target.source or "fp32")
    asked = _ask(target, source, sources(source, ()))
    shares = {fmt: _grid_share(asked, fmt) for fmt in _formats(among)}
    formats = [fmt for fmt, share in shares.items() if share == 1]
    near = formats or sorted(shares, key=lambda fmt: -shares[fmt])[:NEAREST]
    if derive.codes(source).bits > EXHAUSTED:
        asked = _ask(target, source, sources(source, near))
    roundings = [item for item in _chosen("rounding", among) if bool(get("rounding", item).random_bits) == asked.draws]
    pool = [(fmt, item) for fmt in near for item in roundings if _has_meaning(fmt, item)]
    inside = [(fmt, item) for fmt, item in pool if _same_inside(asked, fmt, item)]
    found = list(_hypotheses(asked, inside or pool, among))
    if not found:
        raise OperandError(f"identify: no documented conversion {'draws' if asked.draws else 'is left'}: name others with --among")
    return _report(target, asked, formats, inside, found)


def sources(source: Format, formats: Sequence[str]) -> Bits:
    """Return the source codes that are asked: all up to 16 bits; of fp32 every bf16 number and the directed rows of some formats."""
    bits = derive.codes(source).bits
    if bits <= EXHAUSTED:
        return np.arange(1 << bits, dtype=np.uint8 if bits <= 8 else np.uint16)
    codes = [np.arange(1 << EXHAUSTED, dtype=np.uint32) << np.uint32(bits - EXHAUSTED)]
    for fmt in formats:
        policy = next((name for name in names("conversion") if _covers(name, fmt)), None)
        if policy is not None:
            rows = directed(ConvertRows(parse(f"convert/{fmt}/rne/{policy}"), source.id))
            codes.append(np.array([case.values[0] for case in rows], np.uint32))
    return np.unique(np.concatenate(codes))


def _ask(target: Target, source: Format, x: Bits) -> Asked:
    words = philox.words(KEY, x.size, 0, philox.stream_of("identify_convert")).astype(np.uint64)
    bits = max(get("rounding", name).random_bits for name in names("rounding"))
    plain, refused, kept = _answers(target, x, np.zeros(x.size, np.uint32), source)
    drawn = words & np.uint64(0xFF)
    other = _given(target, kept, drawn[: kept.size].astype(np.uint32))
    draws = bool((other != plain[np.isin(x, kept)]).any())
    if not draws:
        return Asked(source, x, np.zeros(x.size, np.uint64), False, plain, refused)
    drawn = words & np.uint64((1 << min(bits, 8)) - 1)
    answers, refused, _ = _answers(target, x, drawn.astype(np.uint32), source)
    return Asked(source, x, drawn, True, answers, refused)


def _answers(target: Target, x: Bits, random: Bits, source: Format) -> tuple[NDArray[np.int64], int, Bits]:
    """Ask all; where the kernel raises, ask without NaN, then without Inf. Returns answers, how many were left out, and what was asked."""
    top, sign = derive.codes(source).max_code, derive.codes(source).sign_bit
    inf = derive.codes(source).inf
    magnitudes = x & x.dtype.type(~sign & ((1 << 8 * x.itemsize) - 1)) if sign else x
    limits = [np.ones(x.size, bool), magnitudes <= (top if inf is None else inf), magnitudes <= top]
    for number, kept in enumerate(limits):
        try:
            out = np.full(x.size, OPEN, np.int64)
            out[kept] = _given(target, x[kept], random[kept])
            return out, int((~kept).sum()), x[kept]
        except TargetError as error:
            if error.verdict != "raises" or number == len(limits) - 1:
                raise
    raise AssertionError


def _given(target: Target, x: Bits, random: Bits) -> NDArray[np.int64]:
    found = np.asarray(target({"x": x, "codes": x, "random": random})["codes"])
    if found.shape != x.shape:
        raise TargetError("shape", f"identify: codes have shape {found.shape}, asked were {x.shape}")
    return found.astype(np.int64)


def _chosen(kind: str, among: Sequence[str] | None) -> list[str]:
    known = list(names(kind))
    wanted = [name for name in known if among and name in among]
    return wanted or known


def _formats(among: Sequence[str] | None) -> list[str]:
    """Return the element formats: floats and integers of at most eight bits on a regular grid, with a policy that covers them."""
    known = [name for name in _chosen("format", among) if derive.codes(get("format", name)).bits <= WIDEST]
    known = [name for name in known if not isinstance(get("format", name).facts, CodebookFacts)]
    return [name for name in known if any(_covers(policy, name) for policy in names("conversion"))]


def _covers(policy: str, fmt: str) -> bool:
    try:
        derive.policy_entry(get("conversion", policy), get("format", fmt))
    except EmuError:
        return False
    return True


def _has_meaning(fmt: str, rounding: str) -> bool:
    return any(_covers(policy, fmt) and _parses(f"convert/{fmt}/{rounding}/{policy}") for policy in names("conversion"))


def _parses(text: str) -> bool:
    try:
        parse(text)
    except EmuError:
        return False
    return True


def _converted(asked: Asked, fmt: str, rounding: str, policy: str) -> NDArray[np.int64] | None:
    """Return codes, OPEN, REFUSE; None where this engine cannot, or the rounding takes other random integers."""
    to: Format = get("format", fmt)
    mode: Rounding = get("rounding", rounding)
    model: Conversion = get("conversion", policy)
    if mode.random_bits and (isinstance(mode.facts.random, Word) or int(asked.random.max()) >> mode.random_bits):
        return None
    try:
        drawn = element_random(asked.random, mode, asked.x.shape) if mode.random_bits else None
        found = convert_marked(asked.x, asked.source, to, mode, derive.policy_entry(model, to), drawn)
    except EmuError:
        return None
    out = found.astype(np.int64)
    if found.dtype == tables.marker_dtype(to):
        for mark in (OPEN, REFUSE):
            out[found == tables.mark(mark, to)] = mark
    return out


def _inside(asked: Asked, fmt: str) -> NDArray[np.bool_]:
    """Tell which sources are finite, not zero and within the format."""
    to: Format = get("format", fmt)
    values = _values(asked.x, asked.source)
    top = float(_values(np.array([derive.codes(to).max_code]), to)[0])
    signed = bool(derive.codes(to).sign_bit) or getattr(to.facts, "signed", "no") != "no"
    inside: NDArray[np.bool_] = np.isfinite(values) & (np.abs(values) <= top) & (values != 0) & (signed | (values > 0))
    return inside


def _values(codes: Bits, fmt: Format) -> NDArray[np.float64]:
    from emu.fast.convert import to_fp64

    return to_fp64(codes, fmt)


def _any_policy(fmt: str) -> str:
    return next(policy for policy in names("conversion") if _covers(policy, fmt))


def _grid_share(asked: Asked, fmt: str) -> Fraction:
    """Return which part of the sources that are values of the format get their codes."""
    to: Format = get("format", fmt)
    inside = _inside(asked, fmt)
    mine = _converted(Asked(asked.source, asked.x, asked.random, False, asked.answers, 0), fmt, "rne", _any_policy(fmt))
    if mine is None:
        return Fraction(0)
    known = inside & (mine >= 0)
    exact = np.zeros(known.shape, bool)
    exact[known] = _values(mine[known].astype(np.uint16), to) == _values(asked.x[known], asked.source)
    return Fraction(int((asked.answers[exact] == mine[exact]).sum()), max(int(exact.sum()), 1))


def _same_inside(asked: Asked, fmt: str, rounding: str) -> bool:
    """Tell whether sources within the format get the codes of a rounding; which zero is the policy's business."""
    mine = next(
        (
            found
            for policy in names("conversion")
            if _covers(policy, fmt) and (found := _converted(asked, fmt, rounding, policy)) is not None
        ),
        None,
    )
    if mine is None:
        return False
    inside = _inside(asked, fmt) & (asked.answers >= 0) & (mine >= 0)
    zero = _zeros(get("format", fmt))
    both_zero = np.isin(mine, zero) & np.isin(asked.answers, zero)
    return bool(((mine == asked.answers) | both_zero)[inside].all())


def _zeros(fmt: Format) -> list[int]:
    return [0, derive.codes(fmt).sign_bit] if getattr(fmt.facts, "neg_zero", "no") == "yes" else [0]


def _hypotheses(asked: Asked, pool: Sequence[tuple[str, str]], among: Sequence[str] | None) -> Iterator[Hypothesis]:
    for fmt, rounding in pool:
        for policy in _chosen("conversion", among):
            if _covers(policy, fmt):
                answers = _converted(asked, fmt, rounding, policy)
                if answers is not None:
                    yield Hypothesis(fmt, rounding, policy, answers)


def _known(asked: Asked, item: Hypothesis) -> NDArray[np.bool_]:
    known: NDArray[np.bool_] = (asked.answers >= 0) & (item.answers >= 0)
    return known


def _wrong(asked: Asked, item: Hypothesis) -> NDArray[np.bool_]:
    """Tell where a kernel differs; an answer where the policy refuses, or none where it has a code, counts for as little as an open one."""
    fmt: Format = get("format", item.fmt)
    wrong: NDArray[np.bool_] = _known(asked, item) & (canonical(asked.answers, fmt) != canonical(item.answers, fmt))
    return wrong


def _report(
    target: Target, asked: Asked, formats: Sequence[str], inside: Sequence[tuple[str, str]], found: Sequence[Hypothesis]
) -> Identity:
    order = sorted(found, key=lambda item: (int(_wrong(asked, item).sum()), -int(_known(asked, item).sum())))  # all answered: first
    fits = [item for item in order if not _wrong(asked, item).any() and _known(asked, item).any()]
    best = (fits or order)[0]
    axes = [Axis("format", "grid", ", ".join(formats) or "no documented grid"), Axis("rounding", "within the format", _listed(inside))]
    axes += _policy_axes(asked, best)
    kind: Any = "documented" if fits else "nearest"
    wrong = _wrong(asked, best)
    departures = [
        Departure({"x": f"{int(asked.x[at]):x}"}, "codes", f"{int(best.answers[at]):#x}", f"{int(asked.answers[at]):#x}")
        for at in np.flatnonzero(wrong)[:SHOWN]
    ]
    shown = tuple(item.name + ("" if _answers_all(asked, item) else PARTLY) for item in fits) or (best.name,)
    title = _title(asked, fits) if fits else f"nothing documented; nearest {best.name}"
    pairs = tuple(_pair(asked, best, other) for other in found if other is not best)
    return Identity(target.name, target.op, kind, shown, title, tuple(axes), pairs, tuple(departures), asked.x.size, int((~wrong).sum()))


def _answers_all(asked: Asked, item: Hypothesis) -> bool:
    """Tell whether a conversion has a code wherever the kernel has one."""
    return bool((item.answers[asked.answers >= 0] >= 0).all())


def _title(asked: Asked, fits: Sequence[Hypothesis]) -> str:
    """Return the conversions that give all answers; where there is none, those that leave the fewest open."""
    whole = [item.name for item in fits if _answers_all(asked, item)]
    if not whole:
        most = int(_known(asked, fits[0]).sum())
        return " or ".join(item.name for item in fits if int(_known(asked, item).sum()) == most) + PARTLY
    said = f" (equal on the {int((asked.answers >= 0).sum()):,} {asked.source.id} sources asked)" if len(whole) > 1 else ""
    return " or ".join(whole) + said


def _listed(inside: Sequence[tuple[str, str]]) -> str:
    return ", ".join(f"{rounding} ({fmt})" for fmt, rounding in inside) or "no documented rounding"


def _policy_axes(asked: Asked, best: Hypothesis) -> list[Axis]:
    """Say what NaN, Inf, overflow and zeros become."""
    values = _values(asked.x, asked.source)
    top = float(_values(np.array([derive.codes(get("format", best.fmt)).max_code]), get("format", best.fmt))[0])
    finite = np.isfinite(values)
    groups = [
        ("NaN", np.isnan(values)),
        ("+Inf", np.isposinf(values)),
        ("-Inf", np.isneginf(values)),
        ("above the maximum", finite & (values > 2 * top)),
        ("below the minimum", finite & (values < -2 * top)),
        ("+0", (values == 0) & ~np.signbit(values)),
        ("-0", (values == 0) & np.signbit(values)),
    ]
    out = []
    for name, which in groups:
        codes = sorted(set(asked.answers[which].tolist()))
        if codes:
            out.append(
                Axis(
                    "policy", name, "refused by the kernel" if codes == [OPEN] else "code " + ", ".join(f"{code:#x}" for code in codes[:4])
                )
            )
    return out


def _pair(asked: Asked, best: Hypothesis, other: Hypothesis) -> Pair:
    known = (best.answers >= 0) & (other.answers >= 0)
    differ = np.flatnonzero(known & (best.answers != other.answers))
    seen = differ[asked.answers[differ] >= 0]
    if len(seen):
        at = int(seen[0])
        said = f"codes {int(best.answers[at]):x} and {int(other.answers[at]):x}"
        return Pair(best.name, other.name, "separated", said, {"x": f"{int(asked.x[at]):x}"})
    if len(differ):
        return Pair(best.name, other.name, "unobservable", "the kernel refuses the sources that separate them (NaN or Inf)")
    if (best.answers != other.answers).any():
        return Pair(best.name, other.name, "unobservable", "they part only where one of them is open or refuses")
    bits = derive.codes(asked.source).bits
    if bits <= EXHAUSTED and not asked.draws:
        return Pair(best.name, other.name, "equal", f"all {1 << bits} {asked.source.id} codes, by exhaustion")
    return Pair(best.name, other.name, "not separated", f"{asked.x.size} sources tried")
