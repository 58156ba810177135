"""The page of an epilogue: its two rules in words, the facts, and the worked examples."""

from __future__ import annotations

from typing import Any

from emu.pages.datapath_levels import epilogue_text
from emu.pages.frame import Data, Writer
from emu.pages.render import Code
from emu.spec import Epilogue
from emu.spec.models.epilogue import EpilogueExample


def data(library: Epilogue) -> Data:
    """Return what the template shows: a row for each rule, the facts, the worked examples."""
    rules = [("one for each tensor", library.facts.tensors), ("of rows, beside those of blocks", library.facts.rows)]
    return {
        "rules": [(scales, epilogue_text(facts)) for scales, facts in rules],
        "facts_of": [
            (name, Code(library.facts.tensors.model_dump()[name]), Code(library.facts.rows.model_dump()[name]))
            for name in type(library.facts.rows).model_fields
        ],
        "example_rows": [_example(item) for item in library.expect],
    }


def _example(item: EpilogueExample) -> tuple[Any, ...]:
    return item.of, Code(item.sums), Code(item.a), Code(item.b), item.factor, Code(item.c) if item.c else "", Code(item.d), item.why or ""


WRITER = Writer("epilogue", data, ("epilogue.scaled",))
