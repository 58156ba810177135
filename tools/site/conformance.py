"""The pages that only the site has: the conformance table, and the open questions of the spec. Not here: how they reach HTML (build.py)."""

from __future__ import annotations

import re
from collections.abc import Collection
from pathlib import Path
from typing import Any, Final

import numpy as np
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from emu.contracts import contract_of
from emu.explain.link import of_operands
from emu.files.record import Data
from emu.pages.instruction import ISA
from emu.spec import KINDS, Instruction, get, names
from emu.spec.contract import parse
from tools.docs.overviews import STATUS
from tools.foreign_kernels import KIND, RECORD

TEMPLATES: Final = Path(__file__).parent / "templates"
EXPLORER: Final = "explorer_page.html"
SOURCE: Final = "fp32"  # of codes of so many digits: of four they are bf16 or fp16, and the record does not say which
DIGITS: Final = 8
_RUN: Final = re.compile(r"x(\d+)")


def site_pages(root: Path, recipes: Collection[str] | None) -> dict[str, str]:
    """Return path -> Markdown of the pages that docs/ does not hold.

    recipes: those that the explorer offers, so that a link opens; None: no explorer, no links to it.
    Raises: FileError (a damaged record).   Tests: tests/site/test_site_conformance.py.
    """
    return {"conformance.md": conformance(KIND.read(root / RECORD), recipes), "open_questions.md": open_questions()}


def conformance(record: Data, recipes: Collection[str] | None) -> str:
    """Return the page: every kernel of other libraries against its contract, and every instruction with what is known of it."""
    kernels = [_kernel(row, record["libraries"], recipes) for row in record["rows"]]
    machines = [_machine(get("instruction", name)) for name in names("instruction")]
    return _render("conformance.md.j2", kernels=kernels, machines=machines, statuses=[(word, STATUS[word]) for word in STATUS])


def open_questions() -> str:
    """Return the page of everything that the sources leave open: object, question, what would settle it."""
    rows = [(kind, name, point.what, point.until) for kind in KINDS for name in names(kind) for point in get(kind, name).open]
    return _render("open_questions.md.j2", rows=rows, objects=len({row[:2] for row in rows}))


def explorer_link(contract: str, operands: dict[str, str], recipes: Collection[str]) -> str | None:
    """Return the link that opens a row of a conversion or of a quantizer in the explorer; None where it has no room for it.

    recipes: those that the explorer offers.
    """
    found, given = parse(contract), {name: unrolled(text) for name, text in operands.items()}
    if found.op not in ("convert", "quantize") or not given.keys() <= {"codes", "x", "tensor_amax"}:
        return None
    if found.op == "quantize" and found.parts[0] not in recipes:
        return None
    if any(len(code) != DIGITS for codes in given.values() for code in codes):
        return None
    arrays = {name: np.array([int(code, 16) for code in codes], np.uint32) for name, codes in given.items()}
    made = of_operands(contract_of(found, SOURCE), arrays)
    return None if made is None else f"{EXPLORER}#{made}"


def unrolled(text: str) -> list[str]:
    """Return the codes of an operand as records write them: `00000000 x3` stands for three of them."""
    found: list[str] = []
    for word in text.split():
        run = _RUN.fullmatch(word)
        if run:
            found += [found[-1]] * (int(run[1]) - 1)
        else:
            found.append(word)
    return found


def _kernel(row: Data, libraries: Data, recipes: Collection[str] | None) -> Data:
    name = row["kernel"].partition(".")[0]
    about = libraries[name]
    failures = [
        {
            "class": item["class"],
            "operands": [(operand, text) for operand, text in item["operands"].items()],
            "place": item["place"],
            "want": item["want"],
            "got": item["got"],
            "link": explorer_link(row["contract"], item["operands"], recipes) if recipes else None,
        }
        for item in row["failures"]
    ]
    return {
        "kernel": row["kernel"],
        "anchor": name,
        "library": f"{about['package']} {about['version']}",
        "call": row["call"],
        "contract": row["contract"],
        "claim": row["claim"],
        "verdict": "equal" if row["verdict"] == "pass" else row["verdict"],
        "differing": sum(suite["differing"] for suite in row["suites"].values()),
        "compared": sum(suite["compared"] for suite in row["suites"].values()),
        "failures": failures,
    }


def _machine(thing: Instruction) -> Data:
    facts = thing.facts
    return {
        "id": thing.id,
        "isa": ISA.get(facts.isa, facts.isa),
        "mnemonic": facts.mnemonic,
        "performs": facts.performs,
        "status": thing.status,
        "open": [point.what for point in thing.open],
    }


def _render(name: str, **given: Any) -> str:
    pages = Environment(loader=FileSystemLoader(TEMPLATES), undefined=StrictUndefined, autoescape=True)
    pages.trim_blocks = pages.lstrip_blocks = True
    pages.filters["cut"] = _cut
    return pages.get_template(name).render(given)


def _cut(text: str, longest: int = 60) -> str:
    return text if len(text) <= longest else text[: longest - 1] + "…"
