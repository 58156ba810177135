"""Worked examples of checkpoints: names that a store must recognise, and stored bytes with the value of one element."""

from __future__ import annotations

from pathlib import Path

from emu.checkpoint.container import Container, Entry
from emu.checkpoint.store import matches
from emu.checkpoint.value import stored_value
from emu.contracts.numbers import exact_text
from emu.engines.exact.value import Value
from emu.spec import Checkpoint, derive
from emu.spec.models.checkpoint import NamesExample, StoredExample


def check(store: Checkpoint, example: NamesExample | StoredExample) -> str | None:
    """Return None when the worked example holds, else what came out instead."""
    if isinstance(example, NamesExample):
        return _names(store, example)
    stored = {name: bytes.fromhex(text) for name, text in example.stored.items()}
    found = stored_value(store, stored, example.lane, example.block)
    return None if found == _value(example.value) else f"{exact_text(found)}, not {example.value}"


def _names(store: Checkpoint, example: NamesExample) -> str | None:
    """Return what the tensors of a worked example are taken for, where it is not this store and this weight."""
    entries = {item.name: Entry(item.name, item.type, (1, 32), Path(), 0, 0) for item in example.tensors}
    found = [match for fitting in matches(Container(Path("example"), store.facts.container, entries)) for match in fitting]
    mine = [match for match in found if match.store.id == store.id]
    if not mine:
        return f"taken for {', '.join(match.store.id for match in found) or 'nothing'}"
    return None if mine[0].weight == example.finds else f"finds {mine[0].weight}, not {example.finds}"


def _value(text: str) -> Value:
    if text == "nan":
        return Value("nan", 0)
    if text == "-0":
        return Value("finite", 1)
    number = derive.parse_exact(text)
    return Value("finite", int(number < 0), abs(number))
