"""The page of a conversion policy, and the comparison of all policies: who does what with NaN, Inf, -0 and overflow."""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

from emu.base.errors import SpecError
from emu.docgen.frame import Context, Writer
from emu.docgen.grid import TABLE_BITS
from emu.docgen.markdown import code, link, table
from emu.docgen.numbers import exact_text
from emu.engines.exact.codebook import codebook_values
from emu.engines.exact.convert import convert_value
from emu.engines.exact.decode import decode_code
from emu.engines.exact.value import Value
from emu.spec import Format, Policy, derive, get, names
from emu.spec.derive import OPEN, REFUSE
from emu.spec.models.format import CodebookFacts

TITLE = "What each policy does with NaN, Inf, -0 and overflow"


class Outcome(NamedTuple):
    """What comes out for one destination, each as text: computed by the oracle, both signs where they can differ."""

    word: str
    beyond_rne: str
    beyond_rz: str
    inf: str
    nan: str
    minus_zero: str
    negative: str


HEADER = ("overflow word", "beyond max, rne", "beyond max, rz", "+Inf, -Inf", "+NaN, -NaN", "-0", "-1 (no sign bit)")


def outcome(policy: Policy, fmt: Format) -> Outcome | None:
    """Return what a policy does on the way to a format; None where it says nothing of it."""
    try:
        entry = derive.policy_entry(policy, fmt)
    except SpecError:
        return None
    one = Fraction(1)
    beyond = _largest(fmt) * 4

    def pair(kind: str, mode: str = "rne", magnitude: Fraction = Fraction(0)) -> str:
        values = [Value(kind, sign, magnitude) for sign in (0, 1)]  # type: ignore[arg-type]
        cells = [_cell(convert_value(value, fmt, get("rounding", mode), entry), fmt) for value in values]
        return cells[0] if cells[0] == cells[1] else ", ".join(cells)

    def single(value: Value) -> str:
        return _cell(convert_value(value, fmt, get("rounding", "rne"), entry), fmt)

    unsigned = not derive.codes(fmt).sign_bit and not derive.is_twos_complement(fmt) and not isinstance(fmt.facts, CodebookFacts)
    return Outcome(
        code(entry.overflow),
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


def _cell(result: int, fmt: Format) -> str:
    if result in (OPEN, REFUSE):
        return "**open**" if result == OPEN else "refused"
    known = derive.codes(fmt)
    shown = code(f"0x{result:0{-(-known.bits // 4)}X}")
    return shown if known.bits > TABLE_BITS else f"{shown} ({exact_text(decode_code(result, fmt))})"


def body(policy: Policy, context: Context) -> list[str]:
    """Return the body of the page."""
    lines = [
        "## Who does what",
        "",
        "Computed by the oracle. *Beyond max* is four times the largest finite value, both signs; a pair is positive, negative.",
        "Toward zero (rz) is told where it differs.",
        "",
    ]
    rows, silent = [], []
    for name in names("format"):
        fmt: Format = get("format", name)
        found = outcome(policy, fmt)
        if found is None:
            silent.append(link("format", name))
        else:
            found = found._replace(beyond_rz="") if found.beyond_rz == found.beyond_rne else found
            rows.append((link("format", name) + ("" if name in policy.facts else " \\*"), *found))
    lines += table(("to", *HEADER), rows)
    if any("*" in row[0] for row in rows):
        lines += ["", "\\* by the pattern `with_nan` or `without_nan`, not by an entry of its own."]
    if silent:
        lines += ["", "Nothing is known on the way to " + ", ".join(silent) + ": refused."]
    return [*lines, "", "All policies side by side: [comparison](../policies.md)."]


def comparison_page() -> str:
    """Return the page that compares all policies, destination by destination; policies that agree share a row."""
    narrow: list[Format] = [fmt for fmt in (get("format", name) for name in names("format")) if derive.codes(fmt).bits <= TABLE_BITS]
    lines = [
        f"# {TITLE}",
        "",
        "Each table is one destination; policies that give the same bits share a row. Everything is computed by the oracle;",
        "",
    ]
    lines.pop()
    lines[-1] += " *beyond max* is four times the largest finite value, a pair is positive, negative, **open** means that nobody knows,"
    lines.append("\\* that the policy's pattern speaks (`with_nan`, `without_nan`), not an entry of its own.")
    lines += ["Destinations: " + ", ".join(f"[{fmt.id}](#{fmt.id})" for fmt in narrow) + "."]
    for fmt in narrow:
        groups: dict[Outcome, list[str]] = {}
        silent = []
        for name in names("policy"):
            found = outcome(get("policy", name), fmt)
            if found is None:
                silent.append(code(name))
            else:
                own = "" if fmt.id in get("policy", name).facts else " \\*"
                groups.setdefault(found, []).append(link("policy", name, "") + own)
        lines += ["", f"## {fmt.id}", ""]
        lines += _side_by_side(groups)
        if silent:
            lines += ["", "No entry: " + ", ".join(silent) + "."]
    return "\n".join(lines) + "\n"


def _side_by_side(groups: dict[Outcome, list[str]]) -> list[str]:
    """Return the table of one destination; columns that say nothing, or the same as the one before, are left out."""
    keep = [number for number in range(len(HEADER)) if any(found[number] for found in groups)]
    header = dict(enumerate(HEADER))
    if all(found.beyond_rne == found.beyond_rz for found in groups):
        keep.remove(HEADER.index("beyond max, rz"))
        header[HEADER.index("beyond max, rne")] = "beyond max, rne and rz"
    rows = [(", ".join(policies), *(found[number] for number in keep)) for found, policies in groups.items()]
    return table(("policies", *(header[number] for number in keep)), rows)


WRITER = Writer(body, ("convert.convert_code", "convert.convert_value", "overflow.overflow", "encode.attach_sign"))
