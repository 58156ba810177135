"""A sum of products proven lane by lane: one lemma for each lane, whatever shape the adders of a design have.

    lemma 0        with every lane 0 the design gives 0
    lemma i        with the lanes above i 0 it gives what it gives with lane i 0 too, plus the product of lane i

Added up, they say that the design gives the sum of all products: nothing else has to be proven. A lemma compares two copies of the design
that share all but one lane, and product i comes from the golden function of `product`; the golden sum is not needed. A tree of adders and
one of another shape are hard to compare; two copies of one design are not.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Final, NamedTuple

from emu.base.errors import SpecError
from emu.base.templates import filled
from emu.engines.exact.decode import decode_code
from emu.rtl.export.circuit import Circuit
from emu.rtl.export.decode import product_circuit
from emu.rtl.export.equivalence import AIGER, VACUOUS, Verdict, outputs_of, solve
from emu.rtl.export.functions import Golden, Sums

TEMPLATE: Final = Path(__file__).with_name("lemmas.v.j2")


class Lemmas(NamedTuple):
    """proven: how many were.   sha256: of the and-inverter graph that holds them all, each an output of its own."""

    proven: int
    sha256: str


def sums_of(item: Golden) -> Sums:
    """Return the sum that lemmas are about. Raises: SpecError (no sum of products; code 0 of an element is not 0)."""
    sums = item.operation
    if not isinstance(sums, Sums) or sums.lanes < 2:
        raise SpecError(f"{item.name}: lemmas are for group_sum: leave --lemmas out")
    for fmt in (sums.a, sums.b):
        zero = decode_code(0, fmt)
        if zero.kind != "finite" or zero.magnitude:
            raise SpecError(f"{item.name}: lemmas need formats whose code 0 is 0, {fmt.id} is none")
    return sums


def product_of(sums: Sums) -> Circuit:
    """Return the golden product of one lane."""
    circuit = Circuit("emu_golden")
    product_circuit(circuit, sums.a, sums.b)
    return circuit


def lemmas_text(item: Golden, dut: str, tied: list[tuple[str, str]], valid: bool) -> str:
    """Return the module `emu_top` of all lemmas, bad and seen a bit for each."""
    sums = sums_of(item)
    (result,) = item.layout.results
    product_bits = dict(product_of(sums).outputs)["p"]
    return filled(
        TEMPLATE, dut=dut, tied=tied, valid=valid, inputs=item.circuit.inputs, lanes=sums.lanes, result=result.name, bits=result.bits,
        product_bits=product_bits,
    )  # fmt: skip


def judge_lemmas(work: Path, seconds: float) -> tuple[Verdict, int, Lemmas]:
    """Ask for each lemma in a folder; return the verdict, the number of a lemma that fails, and what was proven. seconds: for each."""
    outputs = outputs_of(work)
    numbers = range(sum(name.startswith("bad") for name in outputs))
    digest = hashlib.sha256((work / AIGER).read_bytes()).hexdigest()
    assert len(numbers) > 1 and len(outputs) == 2 * len(numbers)
    for number in numbers:
        found = solve(work, seconds, outputs[f"bad[{number}]"])
        if found.kind != "proven":
            why = f"lemma {number}: {found.why}" if found.why else ""
            return Verdict(found.kind, found.model, why), number, Lemmas(number, digest)
        seen = solve(work, seconds, outputs[f"seen[{number}]"])
        if seen.kind != "counterexample":
            why = VACUOUS if seen.kind == "proven" else seen.why
            return Verdict("unknown", {}, f"lemma {number}: {why}"), number, Lemmas(number, digest)
    return Verdict("proven", {}), 0, Lemmas(len(numbers), digest)


def halves_of(item: Golden, model: dict[str, int], number: int) -> list[dict[str, int]]:
    """Return the two inputs of a lemma that fails, the later copy first: the design is wrong for one of them at least."""
    sums = sums_of(item)
    out = []
    for lanes in (number, number - 1) if number else (0,):
        masks = {name: (1 << bits // sums.lanes * lanes) - 1 for name, bits in item.circuit.inputs}
        out.append({name: model.get(name, 0) & mask for name, mask in masks.items()})
    return out
