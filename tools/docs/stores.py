"""The page of all stores of checkpoints: which hold the same codes, how each is known, whether it is written, who read it back."""

from __future__ import annotations

from itertools import groupby
from typing import Any, Final

from emu.checkpoint.facts import Kind, kind_of
from emu.pages.render import Code, Links, Ref, SourceRef, joined, render
from emu.spec import Checkpoint, get, names
from tools.docs import TEMPLATES

HEADER: Final = ("store", "blocks", "known by", "written as", "quantized again by", "read back by")
Row = tuple[Any, ...]


def stores_page() -> str:
    """Return the page: one table for each kind of block, whose stores hold the same codes."""
    stores = sorted((get("checkpoint", name) for name in names("checkpoint")), key=lambda store: (kind_of(store), store.id))
    tables = [(_title(kind), [_row(store) for store in same]) for kind, same in groupby(stores, kind_of)]
    return render("stores", Links(""), TEMPLATES, header=HEADER, tables=tables)


def _title(kind: Kind) -> str:
    tall, wide = kind.extent
    parts = f"blocks of {wide}" if tall == 1 else f"tiles of {tall} x {wide}"
    where = f"in {parts}" if wide else "by rows" if tall else "by the tensor"
    return f"{' or '.join(kind.elements)} {where}, scales {kind.scale}"


def _row(store: Checkpoint) -> Row:
    facts, write = store.facts, store.facts.write
    known = ["names and types"] if facts.told_by == "names" else []
    known += ["what the file says"] if facts.declared else []
    written: Any = "not written"
    recipe: Any = ""
    readers: list[SourceRef] = []
    if write is not None:
        written = Code(write.file or "model.gguf")
        recipe = "the one that is named" if write.recipe is None else Ref("recipe", write.recipe)
        readers = [SourceRef(ref) for ref in write.read_by]
    blocks = joined(" or ", [Ref("block", name) for name in facts.blocks])
    return Ref("checkpoint", store.id), blocks, " or ".join(known), written, recipe, joined(", ", readers)
