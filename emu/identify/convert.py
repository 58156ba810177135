"""identify a convert kernel: format, then rounding, then policy. Not here: quantize kernels (quantize.py)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from emu.base.errors import OperandError
from emu.check.model import Target
from emu.identify.convert_calls import ConvertAnswers, ask_sources
from emu.identify.convert_known import (
    EXHAUSTED,
    Hypothesis,
    chosen,
    drawn,
    element_formats,
    grid_share,
    has_meaning,
    hypotheses,
    same_inside,
    sources,
    values_of,
)
from emu.identify.model import Axis, Departure, Identity, Pair
from emu.identify.rows import OPEN, canonical
from emu.spec import derive
from emu.spec.models import Format
from emu.spec.registry import get

SHOWN: Final = 4
PARTLY: Final = ", where it answers"
WIDE: Final = 32  # bits of the widest source
NEAREST: Final = 1  # formats that are looked at where no grid is documented


def identify_convert(target: Target, among: Sequence[str] | None) -> Identity:
    """Return which conversion a kernel performs.

    among: ids of formats, roundings and policies; a kind of which none is named is not restricted.
    Raises: TargetError, OperandError.
    """
    source: Format = get("format", target.source or "fp32")
    if derive.codes(source).bits > WIDE:
        raise OperandError(f"identify: sources of {source.id} are not asked: name a --source of at most {WIDE} bits")
    asked = ask_sources(target, source, sources(source, ()))
    shares = {fmt: grid_share(asked, fmt) for fmt in element_formats(among)}
    formats = [fmt for fmt, share in shares.items() if share == 1]
    near = formats or sorted(shares, key=lambda fmt: -shares[fmt])[:NEAREST]
    if derive.codes(source).bits > EXHAUSTED:
        asked = ask_sources(target, source, sources(source, near))
    roundings = [item for item in chosen("rounding", among) if bool(get("rounding", item).random_bits) == asked.draws]
    pool = [(fmt, item) for fmt in near for item in roundings if has_meaning(fmt, item)]
    inside = [(fmt, item) for fmt, item in pool if same_inside(asked, fmt, item)]
    found = list(hypotheses(asked, inside or pool, among))
    if not found:
        raise OperandError(f"identify: no documented conversion {'draws' if asked.draws else 'is left'}: name others with --among")
    if derive.codes(source).bits > EXHAUSTED:
        asked, found = _confirmed(target, asked, inside or pool, found, among)
    return _report(target, asked, formats, inside, found)


def _confirmed(
    target: Target, asked: ConvertAnswers, pool: Sequence[tuple[str, str]], found: list[Hypothesis], among: Sequence[str] | None
) -> tuple[ConvertAnswers, list[Hypothesis]]:
    """Ask random sources that no choice has seen. Returns: answers and conversions, without those that fail there unless all do."""
    fits = {item.name for item in found if _fits(asked, item)}
    if not fits:
        return asked, found
    more = ask_sources(target, asked.source, drawn(asked.source))
    again = list(hypotheses(more, pool, among))
    wrong = {item.name for item in again if _wrong(more, item).any()} & fits
    return (more, again) if wrong == fits else (asked, [item for item in found if item.name not in wrong])


def _fits(asked: ConvertAnswers, item: Hypothesis) -> bool:
    return bool(_known(asked, item).any()) and not _wrong(asked, item).any()


def _known(asked: ConvertAnswers, item: Hypothesis) -> NDArray[np.bool_]:
    known: NDArray[np.bool_] = (asked.answers >= 0) & (item.answers >= 0)
    return known


def _wrong(asked: ConvertAnswers, item: Hypothesis) -> NDArray[np.bool_]:
    """Tell where a kernel differs; an answer where the policy refuses, or none where it has a code, counts for as little as an open one."""
    fmt: Format = get("format", item.fmt)
    wrong: NDArray[np.bool_] = _known(asked, item) & (canonical(asked.answers, fmt) != canonical(item.answers, fmt))
    return wrong


def _report(
    target: Target, asked: ConvertAnswers, formats: Sequence[str], inside: Sequence[tuple[str, str]], found: Sequence[Hypothesis]
) -> Identity:
    order = sorted(found, key=lambda item: (int(_wrong(asked, item).sum()), -int(_known(asked, item).sum())))  # all answered: first
    fits = [item for item in order if _fits(asked, item)]
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


def _answers_all(asked: ConvertAnswers, item: Hypothesis) -> bool:
    """Tell whether a conversion has a code wherever the kernel has one."""
    return bool((item.answers[asked.answers >= 0] >= 0).all())


def _title(asked: ConvertAnswers, fits: Sequence[Hypothesis]) -> str:
    """Return the conversions that give all answers; where there is none, those that leave the fewest open."""
    whole = [item.name for item in fits if _answers_all(asked, item)]
    if not whole:
        most = int(_known(asked, fits[0]).sum())
        return " or ".join(item.name for item in fits if int(_known(asked, item).sum()) == most) + PARTLY
    said = f" (equal on the {int((asked.answers >= 0).sum()):,} {asked.source.id} sources asked)" if len(whole) > 1 else ""
    return " or ".join(whole) + said


def _listed(inside: Sequence[tuple[str, str]]) -> str:
    return ", ".join(f"{rounding} ({fmt})" for fmt, rounding in inside) or "no documented rounding"


def _policy_axes(asked: ConvertAnswers, best: Hypothesis) -> list[Axis]:
    """Say what NaN, Inf, overflow and zeros become."""
    values = values_of(asked.x, asked.source)
    top = float(values_of(np.array([derive.codes(get("format", best.fmt)).max_code]), get("format", best.fmt))[0])
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


def _pair(asked: ConvertAnswers, best: Hypothesis, other: Hypothesis) -> Pair:
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
