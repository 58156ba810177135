"""Random operands: the integer of each element, out of shared words where the rounding has them. The C reference splits the words."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from emu.base.errors import OperandError
from emu.engines.c_ref._c import lib
from emu.engines.c_ref.call import Codes, address, check, unsigned
from emu.engines.c_ref.descriptors import bit_places
from emu.spec.models import Rounding
from emu.spec.models.rounding import Word


def element_random(random: Codes | None, rounding: Rounding, size: int) -> NDArray[np.uint32] | None:
    """Return one random integer per element, flat. Raises: OperandError (missing, unwanted, wrong size, too wide)."""
    bits, source = rounding.random_bits, rounding.facts.random
    if (random is None) == bool(bits):
        raise OperandError(
            f"rounding {rounding.id} " + (f"needs random: {bits} bits an element" if bits else "draws nothing: leave random out")
        )
    if random is None:
        return None
    words = np.ascontiguousarray(unsigned(random)).reshape(-1).astype(np.uint64)
    lanes, width = (source.lanes, source.word) if isinstance(source, Word) else (1, bits)
    if words.size != -(-size // lanes):
        raise OperandError(f"random has {words.size} integers, rounding {rounding.id} needs {-(-size // lanes)}")
    if words.size and int(words.max()).bit_length() > width:
        raise OperandError(f"random does not fit the {width} bits of {rounding.id}")
    if not isinstance(source, Word):
        return words.astype(np.uint32)
    out = np.empty(size, np.uint32)
    places = bytes(bit for lane in source.fields for first, last in lane for bit in bit_places(first, last))
    check(lib.emu_split_words(address("uint64_t[]", words), places, lanes, bits, size, address("uint32_t[]", out)), rounding.id)
    return out
