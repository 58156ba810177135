"""The page of a policy: who does what with NaN, Inf, -0 and overflow."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, NamedTuple

from emu.base.errors import SpecError
from emu.contracts.examples import exact_text
from emu.engines.exact.convert import convert_value
from emu.engines.exact.decode import codebook_values, decode_code
from emu.engines.exact.value import Value
from emu.pages.frame import Data, Writer
from emu.pages.grid import TABLE_BITS
from emu.pages.render import OPEN, Code, Ref, joined
from emu.spec import Format, Policy, derive, get, names
from emu.spec.models.format import CodebookFacts
from emu.spec.models.policy import OF_SERIES


class Outcome(NamedTuple):
    """What comes out for one destination: computed by the exact engine, both signs where they can differ, each as the cell of a table."""

    word: Code
    beyond_rne: Any
    beyond_rz: Any
    inf: Any
    nan: Any
    minus_zero: Any
    negative: Any


HEADER = ["overflow word", "beyond max, rne", "beyond max, rz", "+Inf, -Inf", "+NaN, -NaN", "-0", "-1 (no sign bit)"]


def outcome(policy: Policy, fmt: Format) -> Outcome | None:
    """Return what a policy does on the way to a format; None where it says nothing of it."""
    try:
        entry = derive.policy_entry(policy, fmt)
    except SpecError:
        return None
    one = Fraction(1)
    beyond = _largest(fmt) * 4

    def pair(kind: str, mode: str = "rne", magnitude: Fraction = Fraction(0)) -> Any:
        values = [Value(kind, sign, magnitude) for sign in (0, 1)]  # type: ignore[arg-type]
        cells = [_cell(convert_value(value, fmt, get("rounding", mode), entry), fmt) for value in values]
        return cells[0] if cells[0] == cells[1] else joined(", ", cells)

    def single(value: Value) -> Any:
        return _cell(convert_value(value, fmt, get("rounding", "rne"), entry), fmt)

    unsigned = not derive.codes(fmt).sign_bit and not derive.is_twos_complement(fmt) and not isinstance(fmt.facts, CodebookFacts)
    return Outcome(
        Code(entry.overflow),
        "low bits" if entry.overflow == "wrap" else pair("finite", "rne", beyond),
        "low bits" if entry.overflow == "wrap" else pair("finite", "rz", beyond),
        pair("inf"),
        pair("nan"),
        single(Value("finite", 1)),
        single(Value("finite", 1, one)) if unsigned else "",
    )


def _largest(fmt: Format) -> Fraction:
    if isinstance(fmt.facts, CodebookFacts):
        return max(value.magnitude for value in codebook_values(fmt))
    return decode_code(derive.codes(fmt).max_code, fmt).magnitude


def _cell(result: int, fmt: Format) -> Any:
    if result in (derive.OPEN, derive.REFUSE):
        return OPEN if result == derive.OPEN else "refused"
    known = derive.codes(fmt)
    shown = Code(f"0x{result:0{-(-known.bits // 4)}X}")
    return shown if known.bits > TABLE_BITS else (shown, f" ({exact_text(decode_code(result, fmt))})")


def data(policy: Policy) -> Data:
    """Return what the template shows: what comes out for every destination, and the destinations of which nothing is known."""
    rows, silent, by_pattern = [], [], False
    for name in names("format"):
        found = outcome(policy, get("format", name))
        if found is None:
            silent.append(Ref("format", name))
            continue
        found = found._replace(beyond_rz="") if found.beyond_rz == found.beyond_rne else found
        rows.append((told(policy, "format", name, name), *found))
        by_pattern |= name not in policy.facts
    members = []
    for key in (key for key in policy.facts if key.startswith(OF_SERIES)):
        some = list(derive.members_named(key))
        fmt = some[len(some) // 2]
        found = outcome(policy, fmt)
        assert found is not None
        members.append((Code(key), len(some), Code(fmt.id), *found))
    return {"header": HEADER, "rows": rows, "by_pattern": by_pattern, "members": members, "silent": silent}


def told(policy: Policy, kind: str, name: str, destination: str) -> tuple[Any, ...]:
    """Return a link, with a star where the policy's pattern speaks and not an entry of its own."""
    return Ref(kind, name), "" if destination in policy.facts else " \\*"


WRITER = Writer("policy", data, ("convert.convert_code", "convert.convert_value", "overflow.overflow", "encode.attach_sign"))
