"""The page of a rounding: the rule per sign, random bits, finite overflow, and worked rows that the oracle computes."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

from emu.docgen.frame import Context, Writer
from emu.docgen.markdown import code, fence, link, table
from emu.docgen.numbers import exact_text
from emu.engines.exact.decode import magnitude_of
from emu.engines.exact.round import round_value
from emu.engines.exact.value import finite
from emu.spec import Format, Rounding, derive, get
from emu.spec.models.format import CodebookFacts
from emu.spec.models.rounding import LostPart, Word

GRID = "e2m1"
TINY = Fraction(1, 1 << 30)
BASE_CODE = 4  # worked rows of random modes lie above its value
LOST = tuple(
    Fraction(text) for text in ("1/65536", "1/512", "1/256", "3/512", "1/4", "127/256", "1/2", "257/512", "3/4", "255/256", "511/512")
)

_WORDS = {"keep": "lower", "next": "upper", "to_even_code": "the even code", "to_odd_code": "the odd code"}
_ADD = {
    "add": "`up = floor(lost * 2^{n}) + r >= 2^{n}`: the top {n} discarded bits plus r carry; lower bits are dropped first.",
    "cmp": "`up = r < lost * 2^{n}`: r is compared with all of the discarded part.",
    "half": "`up = lost * 2^{n} + r + 1/2 >= 2^{n}`: the discarded part is rounded to {n} bits, then added.",
    "te_fma": "`sum = fl32(|x| + r/2^{n} * ulp)`, one binary32 fused multiply-add, nearest even; then the sum is cut to the grid.",
}


def body(rounding: Rounding, context: Context) -> list[str]:
    """Return the body of the page."""
    lines = [
        "## Rule",
        "",
        "*lost*: the discarded part, 0 <= lost < 1, in units of the spacing there; lower and upper: the two neighbours by magnitude.",
        "",
    ]
    lines += _random_rule(rounding) if rounding.facts.add else _table_rule(rounding)
    beyond = rounding.facts.beyond_max
    lines += ["", "A finite value beyond the maximum, under the overflow words `ieee_inf` and `ieee_nan`:", ""]
    words = {"away": "to Inf (or NaN)", "max": "stays at the largest finite value"}
    lines += table(("sign", "goes"), [("positive", words[beyond.positive]), ("negative", words[beyond.negative])])
    if isinstance(rounding.facts.random, Word):
        lines += ["", "## Random bits", "", *_word(rounding.facts.random)]
    lines += ["", f"## Worked on the grid of {link('format', GRID)}", ""]
    return lines + (_worked_random(rounding) if rounding.facts.add else _worked(rounding))


def _table_rule(rounding: Rounding) -> list[str]:
    facts = rounding.facts
    rules = {"any": facts.magnitude} if facts.magnitude else {"positive": facts.positive, "negative": facts.negative}
    rows = [(sign, *_choices(rule)) for sign, rule in rules.items() if rule is not None]
    return table(("sign", "lost = 0", "0 < lost < 1/2", "lost = 1/2", "1/2 < lost < 1"), rows)


def _choices(rule: LostPart) -> list[str]:
    return [_WORDS[choice] for choice in (rule.zero, rule.less_than_half, rule.half, rule.more_than_half)]


def _random_rule(rounding: Rounding) -> list[str]:
    bits = rounding.random_bits
    assert rounding.facts.add is not None
    word = isinstance(rounding.facts.random, Word)
    where = "cut from a shared word as shown below" if word else "one per element, an operand of the caller"
    lines = [f"r: a random integer of {bits} bits, 0 <= r < 2^{bits}, {where}. The sign is not seen; a value on the grid never moves.", ""]
    return [*lines, _ADD[rounding.facts.add].format(n=bits)]


def _word(word: Word) -> list[str]:
    """Return which bits of the shared word each lane reads, most significant bit of r first."""
    rows = []
    for lane, ranges in enumerate(word.fields):
        taken = [f"[{first}]" if first == last else f"[{first}:{last}]" for first, last in ranges]
        rows.append(
            (str(lane), " & ".join(code(item) for item in taken), "ascending: read backwards" if any(a < b for a, b in ranges) else "")
        )
    lines = [
        f"One {word.word}-bit word serves {word.lanes} consecutive elements, lane 0 first; r joins the ranges, most significant first.",
        "",
    ]
    lines += table(("lane", "bits of the word", ""), rows)
    return [*lines, "", *fence(_map(word))]


def _map(word: Word) -> list[str]:
    """Draw the word: for each lane, where each of its bits goes in r."""
    out = ["bit    " + " ".join(f"{bit:2}" for bit in reversed(range(word.word)))]
    for lane, ranges in enumerate(word.fields):
        order = [bit for first, last in ranges for bit in range(first, last + (1 if last >= first else -1), 1 if last >= first else -1)]
        place = {bit: len(order) - 1 - index for index, bit in enumerate(order)}
        out.append(f"lane {lane} " + " ".join(f"{place[bit]:2}" if bit in place else " ." for bit in reversed(range(word.word))))
    return [*out, "       the number is the bit of r"]


def _worked(rounding: Rounding) -> list[str]:
    """Midpoints and their neighbours on both sides, both signs, on the grid without a maximum."""
    fmt: Format = get("format", GRID)
    rows = []
    points = _points(fmt)
    for low, high in pairwise(points):
        middle = (low + high) / 2
        for sign in (1, -1):
            results = [
                _rounded(sign * point, fmt, rounding) for point in (low + (high - low) * TINY, middle - TINY, middle, middle + TINY, high)
            ]
            rows.append((f"{_signed(sign * low)} .. {_signed(sign * high)}", _signed(sign * middle), *results))
    note = [
        f"No maximum here: overflow is another operation, and the last rows go on to {_signed(points[-1])}. *Just* means 2^-30 away.",
        "",
    ]
    header = (
        "between",
        "midpoint",
        "just beyond the inner end",
        "just inside the midpoint",
        "the midpoint",
        "just outside the midpoint",
        "the outer end",
    )
    return [*note, *table(header, rows, numbers=range(2, 7))]


def _points(fmt: Format) -> list[Fraction]:
    """Return the magnitudes of a grid and the next one above its maximum."""
    assert not isinstance(fmt.facts, CodebookFacts)
    return [magnitude_of(code, fmt.facts) for code in range(derive.codes(fmt).max_code + 2)]


def _rounded(number: Fraction, fmt: Format, rounding: Rounding, random: int | None = None) -> str:
    return exact_text(round_value(finite(number), fmt, rounding, random))


def _signed(number: Fraction) -> str:
    return exact_text(finite(number))


def _worked_random(rounding: Rounding) -> list[str]:
    """For discarded parts between 2 and 3: which random integers go up, and how many of them."""
    fmt: Format = get("format", GRID)
    whole = 1 << rounding.random_bits
    base, above = _points(fmt)[BASE_CODE : BASE_CODE + 2]
    rows = []
    for lost in LOST:
        number = base + lost * (above - base)
        count, where = _ups(number, fmt, rounding)
        rows.append((_signed(number), _signed(lost), where, f"{count} of {whole}", _signed(Fraction(count, whole) - lost)))
    note = [f"Values between {base} and {above}; the count is over all {whole} values of r, by bisection.", ""]
    return [*note, *table(("value", "lost", "goes up for r", "how many", "probability minus lost"), rows, numbers=(0, 1, 3, 4))]


def _ups(number: Fraction, fmt: Format, rounding: Rounding) -> tuple[int, str]:
    """Return how many random integers round a magnitude up, and which; the choice is monotone in r, one way or the other."""
    whole = 1 << rounding.random_bits
    ends = [_goes_up(number, fmt, rounding, random) for random in (0, whole - 1)]
    if ends[0] == ends[1]:
        return (whole, "every r") if ends[0] else (0, "none")
    low, high = 0, whole - 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if _goes_up(number, fmt, rounding, middle) == ends[0] else (low, middle)
    return (high, f"r < {high}") if ends[0] else (whole - high, f"r >= {high}")


def _goes_up(number: Fraction, fmt: Format, rounding: Rounding, random: int) -> bool:
    return round_value(finite(number), fmt, rounding, random).magnitude > number


WRITER = Writer(
    body, ("round.round_value", "round.round_magnitude", "round.goes_up", "round._random_up", "round._te_fma", "random_bits.element_bits")
)
