"""Golden functions of conversions against `exact`: all rules, both sides of every threshold, all of bf16; and faults that must show."""

from collections.abc import Iterator

import pytest
from support.circuit import Evaluator

from emu.base.errors import SpecError
from emu.contracts.convert.contract import ConvertContract
from emu.engines.exact.convert import convert_value
from emu.engines.exact.decode import decode_code
from emu.engines.exact.round import locate
from emu.rtl.export import convert as export_convert
from emu.rtl.export.functions import Golden, golden
from emu.rtl.export.segments import Segment, segments
from emu.spec import derive
from emu.spec.contract import contracts
from emu.spec.derive import OPEN, REFUSE
from emu.spec.models.format import CodebookFacts
from emu.spec.registry import get

# every kind of destination with every rounding, every policy at least once
CHOSEN = [
    ("convert/e2m1/rne/nvidia", "fp32"), ("convert/e1m2/rna/ocp_saturate", "bf16"), ("convert/e0m3/ru/ocp_saturate", "fp16"),
    ("convert/int4/rd/ocp_saturate", "fp32"), ("convert/int8/odd/ocp_saturate", "bf16"), ("convert/e3m0/rz/ocp_saturate", "fp16"),
    ("convert/nf4/rne/ocp_saturate", "fp32"), ("convert/nf4/ru/ocp_saturate", "bf16"), ("convert/e4m3/rne/nvidia_nosat", "fp16"),
    ("convert/e5m2/rz/nvidia_nosat", "fp32"), ("convert/e4m3fnuz/ru/onnx_reference_nosat", "bf16"), ("convert/e8m0/ru/nvidia", "fp32"),
    ("convert/ue5m3/rd/nvidia_nosat", "fp16"), ("convert/e6m2/rne/ocp_saturate", "fp32"), ("convert/e2m1/rne/torchao", "bf16"),
    ("convert/e2m1/sr_add8/nvidia", "fp32"), ("convert/e1m2/sr_cmp8/nvidia", "bf16"), ("convert/int4/sr_half8/ocp_saturate", "fp16"),
    ("convert/e2m1/sr_te_fma8/nvidia", "fp32"), ("convert/e1m2/sr_te_fma8/nvidia", "bf16"), ("convert/e5m2/sr_amd22/nvidia_nosat", "bf16"),
    ("convert/nf4/sr_half8/ocp_saturate", "bf16"), ("convert/nf4/sr_cmp8/ocp_saturate", "fp16"), ("convert/e8m0/sr_add8/nvidia", "bf16"),
    ("convert/e3m0/sr_ptx_split8/ocp_saturate", "fp32"), ("convert/ue4m3/sr_add16/ocp_saturate", "fp16"),
]  # fmt: skip


def wanted(op: ConvertContract, x: int, r: int) -> int:
    value = decode_code(x, op.source)
    return convert_value(value, op.fmt, op.rounding, op.entry, r if op.rounding.random_bits else None)


def got(meaning: Evaluator, x: int, r: int) -> int:
    found = meaning.outputs(x=x, r=r)
    return OPEN if found["open"] else found["y"]


def known(code: int) -> int:
    return OPEN if code == REFUSE else code


def draws(op: ConvertContract, segment: Segment, x: int) -> Iterator[int]:
    """The extremes of r, and both sides of where the answer turns, found from the exact engine's lost part and not from the condition."""
    steps = 1 << op.rounding.random_bits
    yield from {0, 1, steps - 1} if steps > 1 else {0}
    if segment.condition is None or isinstance(op.fmt.facts, CodebookFacts):
        return
    scaled = locate(decode_code(x, op.source).magnitude, op.fmt).lost * steps
    low, half = int(scaled), int(2 * scaled)
    turns = {low, low + 1, steps - low, steps - low - 1, steps - (half + 1) // 2, steps - (half + 1) // 2 - 1}
    yield from (r for r in turns if 0 <= r < steps)


def operation(item: Golden) -> ConvertContract:
    assert isinstance(item.operation, ConvertContract)
    return item.operation


@pytest.mark.cases(12)
@pytest.mark.parametrize(("contract", "source"), CHOSEN)
def test_both_ends_and_the_inside_of_every_segment(contract: str, source: str) -> None:
    item = golden(contract, source)
    op, meaning, first, compared = operation(item), Evaluator(item.circuit), 0, 0
    found = segments(op.source, op.fmt, op.rounding, op.entry)
    kept = {0, len(found) - 1, *range(0, len(found), max(len(found) // 24, 1))}
    for place, segment in enumerate(found):
        inside = {first, segment.last, (first + segment.last) // 2, first + place * 2654435761 % (segment.last - first + 1)}
        for x in sorted(inside) if place in kept else ():
            for r in draws(op, segment, x):
                assert got(meaning, x, r) == known(wanted(op, x, r)), (hex(x), r)
                compared += 1
        first = segment.last + 1
    assert first == 1 << derive.codes(op.source).bits
    assert compared > 20


@pytest.mark.exhaustive
@pytest.mark.parametrize(("contract", "source"), [("convert/e2m1/rne/nvidia", "bf16"), ("convert/int4/sr_half8/ocp_saturate", "bf16")])
def test_all_of_bf16(contract: str, source: str) -> None:
    item = golden(contract, source)
    op = operation(item)
    xs = range(1 << 16)
    rs = [x * 2654435761 >> 7 & 255 for x in xs] if op.rounding.random_bits else [0] * len(xs)
    found = [row[0][0] for row in op.numpy([(x, r)[: 1 + bool(op.rounding.random_bits)] for x, r in zip(xs, rs, strict=True)])]  # type: ignore[index]
    meaning = Evaluator(item.circuit)
    assert [got(meaning, x, r) for x, r in zip(xs, rs, strict=True)] == [known(code) for code in found]


def faults(found: list[Segment]) -> Iterator[tuple[int, Segment]]:
    """(place, changed segment): each threshold or code one off, each condition one step of r off, or with four times the slope."""
    for place, segment in enumerate(found):
        yield place, segment._replace(code=segment.code ^ 1)
        if (condition := segment.condition) is None:
            if place < len(found) - 1:
                yield from ((place, segment._replace(last=segment.last + step)) for step in (-1, 1) if segment.last + step >= 0)
            continue
        yield place, segment._replace(above=segment.above ^ 1)
        if segment.above == segment.code:
            continue  # saturated: the condition says nothing
        yield place, segment._replace(condition=condition._replace(offset=condition.offset + abs(condition.weight)))
        if condition.slope and segment.last > condition.first:
            yield place, segment._replace(condition=condition._replace(slope=condition.slope * 4))


@pytest.mark.parametrize("contract", ["convert/e2m1/rne/nvidia", "convert/e1m2/sr_half8/nvidia", "convert/e2m1/sr_cmp8/nvidia"])
def test_every_fault_of_the_generator_shows(contract: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows that notice no fault would prove nothing: each number of each segment is changed alone, and a row of `exact`'s tells."""
    op = operation(golden(contract, "bf16"))
    right = segments(op.source, op.fmt, op.rounding, op.entry)
    firsts = [0, *(segment.last + 1 for segment in right)]
    survivors = []
    for place, wrong in faults(right):
        changed = [*right[:place], wrong, *right[place + 1 :]]
        monkeypatch.setattr(export_convert, "segments", lambda *_, changed=changed: changed)
        meaning = Evaluator(golden(contract, "bf16").circuit)
        spots = {max(firsts[place] + step, 0) for step in (0, 1, 3, 5, 64)} | {right[place].last + step for step in (0, 1)}
        spots.add((firsts[place] + right[place].last) // 2)
        rows = ((x, r) for x in sorted(spots) if x < 1 << 16 for r in draws(op, right[place], x))
        if all(got(meaning, x, r) == wanted(op, x, r) for x, r in rows):
            survivors.append((place, wrong))
    assert survivors == []
    assert len(list(faults(right))) >= 40


@pytest.mark.exhaustive
def test_every_contract_of_a_narrow_destination_has_a_golden_function() -> None:
    """From bf16, one contract in twelve: seven codes of each. Policies, roundings and formats without a special case of their own.

    A rounding whose ties depend on the parity of its random integer is refused in one line.
    """
    count = 0
    for contract in contracts():
        if contract.op != "convert" or derive.codes(get("format", contract.parts[0])).bits > 8 or hash_of(str(contract)) % 12:
            continue
        if get("rounding", contract.parts[1]).facts.add == "nearest":
            with pytest.raises(SpecError, match="has no golden function: its ties depend on the parity of the random integer"):
                golden(str(contract), "bf16")
            continue
        item = golden(str(contract), "bf16")
        op, meaning = operation(item), Evaluator(item.circuit)
        for x in (0x0000, 0x3F81, 0xBFC3, 0x7F80, 0xFF80, 0x7FC1, 0x4380):
            assert got(meaning, x, 1) == known(wanted(op, x, 1)), (str(contract), hex(x))
        count += 1
    assert count > 40


def hash_of(text: str) -> int:
    """A hash that is the same in every process."""
    return sum(place * ord(letter) for place, letter in enumerate(text, 1))


@pytest.mark.parametrize(
    ("contract", "source", "what"),
    [
        ("convert/fp16/rne/nvidia", None, "fp16 has 16 bits"),
        ("convert/e2m1/rne/nvidia", "fp64", "is exported from fp32, bf16, fp16"),
        ("decode/e2m1", "fp32", "leave --source out"),
        ("decode/bf16", None, "bf16 has 16 bits"),
        ("quantize/nvfp4_te_ref", None, "exist for decode, convert, product, group_sum and dot"),
        ("product/e2m1", None, "write product/"),
        ("product/e2m1xnf4", None, "nf4 is a codebook"),
        ("group_sum/e2m1xe2m1/12", None, "lanes one of|lanes 2, 4"),
        ("group_sum/e2m1xfoo", None, "write group_sum/"),
    ],
)
def test_what_has_no_golden_function_is_said(contract: str, source: str | None, what: str) -> None:
    with pytest.raises(SpecError, match=what):
        golden(contract, source)
