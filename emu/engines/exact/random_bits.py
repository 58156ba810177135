"""Random operands: the integer of one element out of a shared word."""

from __future__ import annotations

from emu.base.errors import OperandError
from emu.spec.models import Rounding
from emu.spec.models.rounding import Word


def element_bits(word: int, rounding: Rounding, lane: int) -> int:
    """Return the random integer of one lane of a shared word.

    word: unsigned, as wide as the rounding states.   lane: place of the element among those that share it, 0 first.
    Raises: OperandError (the rounding shares no word, the word is too wide, or no such lane).
    """
    source = rounding.facts.random
    if not isinstance(source, Word):
        raise OperandError(f"rounding {rounding.id} shares no word between elements")
    if not 0 <= word < 1 << source.word or not 0 <= lane < source.lanes:
        raise OperandError(f"rounding {rounding.id} takes words of {source.word} bits for {source.lanes} lanes")
    out = 0
    for first, last in source.fields[lane]:
        step = 1 if last >= first else -1
        for bit in range(first, last + step, step):
            out = out << 1 | (word >> bit & 1)
    return out
