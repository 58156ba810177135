"""What a store can hold of a weight of another one as it is: the same codes and scales, and its tensor factor.

Not here: writing it (convert.py), quantizing it again where the store cannot hold it (requantize.py).
"""

from __future__ import annotations

from fractions import Fraction

from emu.base.errors import FileError
from emu.checkpoint.container import Container
from emu.checkpoint.facts import block_of, kind_of, no_stack, tensor_level, unit_of
from emu.checkpoint.layout import Stated
from emu.checkpoint.read import StoredTensor, open_tensor
from emu.checkpoint.rescaled import Rescaled, can_rescale
from emu.checkpoint.scan import nan_places
from emu.checkpoint.store import Match
from emu.engines.exact.convert import convert_value
from emu.engines.exact.decode import decode_code
from emu.engines.exact.value import finite
from emu.spec import derive, get
from emu.spec.models import Checkpoint, Format


class CannotHold(FileError):
    """A weight that a store cannot hold as it is. remedy: what other way there is, or an empty text."""

    def __init__(self, tensor: StoredTensor, store: Checkpoint, why: str, remedy: str = "") -> None:
        self.remedy = remedy
        super().__init__(f"{tensor.container.path}: {tensor.name}: {store.id} cannot hold it: {why}")


def open_as(container: Container, fitting: tuple[Match, ...], store: Checkpoint, stated: Stated) -> StoredTensor | str:
    """Return as read.open_tensor; of several stores that a weight fits, one whose blocks another store holds.

    The same codes lie under the same scales in each of them. Raises: as read.open_tensor.
    """
    found = open_tensor(container, fitting, stated)
    if isinstance(found, str):
        return found
    readings = [found.match, *(item for item in fitting if item.store.id in found.others)]
    same = [item for item in readings if kind_of(item.store) == kind_of(store)]
    chosen = next(iter([*same, *(item for item in readings if can_rescale(item.store, store))]), found.match)
    return found if chosen is found.match else open_tensor(container, (chosen,), stated)


def of_kind(tensor: StoredTensor, store: Checkpoint) -> StoredTensor | Rescaled:
    """Return a weight as another store holds its codes and scales: as it is, or with the same scales in another type, or more of them.

    Raises: CannotHold (blocks of another kind, scales that are no numbers of the other type, a stack of matrices).
    """
    found: StoredTensor | Rescaled = tensor
    if kind_of(tensor.store) != kind_of(store):
        if not can_rescale(tensor.store, store):
            raise CannotHold(tensor, store, f"blocks of {tensor.block.id} are no blocks of {block_of(store).id}")
        found = Rescaled(tensor, store)
        wrong = found.rounded
        if wrong is not None:
            where = f"scale {wrong[1]} of row {wrong[0]}"
            raise CannotHold(tensor, store, f"{where} is no number of {found.scale_format.id}, the type of its scales")
    stack = no_stack(store, tensor.shape)
    if stack is not None:
        raise CannotHold(tensor, store, stack)
    unit = unit_of(store)
    if tensor.shape[-1] % unit:
        raise CannotHold(tensor, store, f"rows of {tensor.shape[-1]} elements are no multiple of its units of {unit}")
    return found


def check_scales(tensor: StoredTensor, store: Checkpoint) -> None:
    """Refuse a weight that has a scale which means something else in another store. Raises: CannotHold."""
    rules = (tensor.store.facts.nan_scale, store.facts.nan_scale)
    for rows in tensor.chunks():
        if rows.flags.any() and store.facts.high_bit != tensor.store.facts.high_bit:
            raise CannotHold(tensor, store, f"bit {derive.codes(tensor.scale_format).bits} of a scale is set in row {rows.first} or below")
        asked = rules[0] != rules[1] or "refused" in rules
        if asked and nan_places(rows.scales, tensor.scale_format).any():
            raise CannotHold(
                tensor, store, f"a scale is a NaN code in row {rows.first} or below: {rules[0]} there, {rules[1]} in {store.id}"
            )


def held_factor(tensor: StoredTensor, store: Checkpoint, round_factor: bool) -> tuple[int | None, bool]:
    """Return the tensor factor as another store wants it, and whether it is exactly the same number.

    round_factor: may it be rounded to nearest even.   Returns: binary32 bits, None where the store has none.
    Raises: CannotHold, FileError (a factor that is no positive number).
    """
    value, level = factor_of(tensor), tensor_level(store)
    if level is None:
        if value != 1:
            raise CannotHold(tensor, store, "it has no tensor factor, and this weight has one that is not 1")
        return None, True
    meaning = level.meaning
    if meaning == "divisor" and value == 0:
        raise CannotHold(tensor, store, "its tensor factor is a divisor, and this one is zero")
    wanted = as_stored(value, store)
    bits = nearest(wanted)
    back = decode_code(bits, get("format", "fp32"))
    if back.kind != "finite" or (back.magnitude == 0) != (wanted == 0):
        raise CannotHold(tensor, store, f"its tensor factor as a {meaning} is out of the range of binary32")
    exact = back.signed == wanted
    if not exact and not round_factor:
        why = f"its tensor factor as a {meaning} is no binary32 number"
        raise CannotHold(tensor, store, why, "--round-factor takes the nearest one, values change in their last bits")
    return bits, exact


def as_stored(value: Fraction, store: Checkpoint) -> Fraction:
    """Return the number that stands in a store for a tensor factor, which is not zero where it divides."""
    level = tensor_level(store)
    assert level is not None
    if level.meaning == "divisor":
        return 1 / value
    return value / derive.parse_exact(block_of(store).facts.factor) if level.meaning == "amax" else value


def nearest(value: Fraction) -> int:
    """Return the bits of a number in binary32, rounded to nearest even."""
    fp32: Format = get("format", "fp32")
    return convert_value(finite(value), fp32, get("rounding", "rne"), derive.arithmetic_entry(fp32))


def factor_of(tensor: StoredTensor) -> Fraction:
    """Return what the scales of a weight are multiplied by, exactly. Raises: FileError (NaN, Inf, negative, or zero where it divides)."""
    bits, level = tensor.tensor_bits, tensor_level(tensor.store)
    if bits is None or level is None:
        return Fraction(1)
    value = decode_code(bits, get("format", "fp32"))
    if value.kind != "finite" or value.sign or (level.meaning == "divisor" and not value.magnitude):
        raise FileError(f"{tensor.container.path}: {tensor.name}: its tensor factor 0x{bits:08X} is no positive number")
    if level.meaning == "divisor":
        return 1 / value.magnitude
    return value.magnitude * derive.parse_exact(tensor.block.facts.factor) if level.meaning == "amax" else value.magnitude
