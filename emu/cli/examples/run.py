"""Worked examples of spec files, replayed by the exact engine. Not here: how (emu.contracts), who asks (emu doctor, tests)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

from emu.base.errors import EmuError
from emu.checkpoint.container import Container, Entry
from emu.checkpoint.store import matches
from emu.checkpoint.value import stored_value
from emu.contracts import replay
from emu.contracts.examples import exact_text, split
from emu.engines.exact.decode import decode_code
from emu.engines.exact.epilogue import scaled
from emu.engines.exact.value import Value
from emu.spec import Checkpoint, Coverage, Epilogue, Format, Series, SpecObject, Training, derive, get
from emu.spec.levels import binary32_plan
from emu.spec.models.checkpoint import NamesExample, StoredExample
from emu.spec.models.epilogue import EpilogueExample
from emu.spec.models.series import SeriesExample
from emu.spec.models.training import KeptExample, OperandExample
from emu.spec.training import SUMMED, kept_layers, plan_of, rotation_of
from emu.vectors.coverage.count import subject_of
from emu.vectors.coverage.model import row_bins
from emu.vectors.suites.plan import find

# Worked examples of checkpoints: names that a store must recognise, and stored bytes with the value of one element.


def check_checkpoint(store: Checkpoint, example: NamesExample | StoredExample) -> str | None:
    """Return None when the worked example holds, else what came out instead."""
    if isinstance(example, NamesExample):
        return _names(store, example)
    stored = {name: bytes.fromhex(text) for name, text in example.stored.items()}
    found = stored_value(store, stored, example.lane, example.block)
    return None if found == _value(example.value) else f"{exact_text(found)}, not {example.value}"


def _names(store: Checkpoint, example: NamesExample) -> str | None:
    """Return what the tensors of a worked example are taken for, where it is not this store and this weight."""
    entries = {item.name: Entry(item.name, item.type, (1, 32), Path(), 0, 0) for item in example.tensors}
    header, config = _statement(store) if store.facts.told_by == "statement" else ({}, {})
    container = Container(Path("example"), store.facts.container, entries, header, config)
    found = [match for fitting in matches(container) for match in fitting]
    mine = [match for match in found if match.store.id == store.id]
    if not mine:
        return f"taken for {', '.join(match.store.id for match in found) or 'nothing'}"
    return None if mine[0].weight == example.finds else f"finds {mine[0].weight}, not {example.finds}"


def _statement(store: Checkpoint) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return metadata of a header, and JSON files, that say what a file must say to be of a store."""
    said = store.facts.declared[0]
    data: Any = said.words[0]
    for key in reversed(said.keys):
        data = {key: data}
    return ({}, {"config.json": data}) if said.where == "config" else (data, {})


def _value(text: str) -> Value:
    if text == "nan":
        return Value("nan", 0)
    if text == "-0":
        return Value("finite", 1)
    number = derive.parse_exact(text)
    return Value("finite", int(number < 0), abs(number))


# Worked examples of coverage models: one row each, its bins by the code that gives axes their meaning.


def check_coverage(model: Coverage, example: Any) -> str | None:
    """Return None when a worked example holds, else which cross says something else."""
    op = find(example.stem).operation
    if op.covered_as != model.facts.op:
        return f"{example.stem} is no suite of {model.facts.op}"
    found = row_bins(subject_of(op), model, tuple(int(text, 16) for text in example.given))
    for name, wanted in example.bins.items():
        if sorted(found.get(name, ())) != sorted(wanted):
            return f"{name}: {', '.join(found.get(name, ())) or 'no bin'}, not {', '.join(wanted) or 'no bin'}"
    return None


# Worked examples of training recipes: what follows for an operand, and which layers stay.


def check_training(model: Training, example: OperandExample | KeptExample) -> str | None:
    """Return None when a worked example holds, else what follows instead."""
    if isinstance(example, KeptExample):
        kept = tuple(sorted(kept_layers(model, example.layers)))
        return None if kept == example.kept else f"of {example.layers} layers {kept} stay, not {example.kept}"
    operands = plan_of(model).operands
    if example.operand not in operands:
        return f"{example.operand} is no operand: one of {', '.join(operands)}"
    operand = operands[example.operand]
    rotated = "no" if rotation_of(operand) is None else "yes"
    found = (SUMMED[operand.gemm], operand.multiple, rotated, operand.random_bits)
    wanted = (example.along, example.multiple, example.rotated, example.random_bits)
    return None if found == wanted else f"{example.operand} gives {found}, not {wanted}"


# Worked examples of series: a code of a member and its value.


def check_series(_series: Series, example: SeriesExample) -> str | None:
    """Return None when a worked example holds, else the value that the code has."""
    found = exact_text(decode_code(int(example.code, 16), get("format", example.member)))
    return None if found == example.value else f"{example.member} {example.code} is {found}, not {example.value}"


# Worked examples of epilogues: sums and stored scales in, codes of the result out.


def check_epilogue(model: Epilogue, example: EpilogueExample) -> str | None:
    """Return None when a worked example holds, else the codes that come out."""
    fp32: Format = get("format", "fp32")
    a, b, sums, wanted = (split(text, fp32) for text in (example.a, example.b, example.sums, example.d))
    if len(wanted) != len(sums) or len(sums) % len(b) or (len(a) > 1 and len(sums) != len(a) * len(b)):
        return f"{len(sums)} sums and {len(wanted)} results are not those of {len(a)} rows and {len(b)} columns"
    rules = model.facts.tensors if example.of == "tensors" else model.facts.rows
    plan, factor = binary32_plan(), derive.parse_exact(example.factor)
    added = [None] * len(sums) if example.c is None else split(example.c, fp32)
    single = 1 in (len(a), len(b))
    found = [
        scaled(d, a[at // len(b) % len(a)], b[at % len(b)], single, factor, c, rules, plan)
        for at, (d, c) in enumerate(zip(sums, added, strict=True))
    ]
    return None if found == wanted else f"{' '.join(f'{code:08X}' for code in found)}, not {example.d}"


_OTHERS: Final[dict[str, Callable[[Any, Any], str | None]]] = {
    "coverage": check_coverage,
    "checkpoint": check_checkpoint,
    "training": check_training,
    "series": check_series,
    "epilogue": check_epilogue,
}


def faults(thing: SpecObject) -> Iterator[tuple[int, str | None]]:
    """Yield (number of the example, None when it holds, else what came out instead) for every worked example of a spec object."""
    check: Callable[[Any, Any], str | None] = _OTHERS.get(thing.kind, replay)
    for number, example in enumerate(thing.expect):  # type: ignore[attr-defined]
        try:
            yield number, check(thing, example)
        except EmuError as error:
            yield number, str(error)
