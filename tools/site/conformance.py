"""The pages that only the site has: the conformance table, and the open questions of the spec. Not here: how they reach HTML (build.py)."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any, Final
from urllib.parse import parse_qsl

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from emu.base.errors import EmuError
from emu.contracts import contract_of
from emu.explain.link import link, of_operands
from emu.files.record import Data
from emu.pages.instruction import ISA
from emu.spec import KINDS, Datapath, Instruction, get, names
from emu.spec.contract import parse
from emu.spec.datapath import resolve
from tools import machines
from tools.docs.foreign_kernels import told
from tools.docs.overviews import STATUS
from tools.foreign_kernels import KIND, RECORD
from tools.site.beside import Row, alike, row_of

TEMPLATES: Final = Path(__file__).parent / "templates"
EXPLORER: Final = "explorer_page.html"


def site_pages(root: Path, recipes: Collection[str] | None) -> dict[str, str]:
    """Return path -> Markdown of the pages that docs/ does not hold.

    recipes: those that the explorer offers, so that a link opens; None: no explorer, no links to it.
    Raises: FileError (a damaged record).   Tests: tests/site/test_site_conformance.py.
    """
    records = KIND.read(root / RECORD), machines.KIND.read(root / machines.RECORD)
    return {"conformance.md": conformance(*records, recipes), "open_questions.md": open_questions()}


def conformance(record: Data, compared: Data, recipes: Collection[str] | None) -> str:
    """Return the page: every kernel of other libraries against its contract, every datapath of a machine against every other, every
    instruction with what is known of it.

    record, compared: of tools.foreign_kernels and of tools.machines.
    """
    return _render(
        "conformance.md.j2",
        kernels=[_kernel(row, recipes) for row in told(record)],
        datapaths=[_pair(pair, recipes is not None) for pair in compared["pairs"]],
        alone=_alone(compared["pairs"]),
        command=compared["command"],
        machines=[_machine(get("instruction", name)) for name in names("instruction")],
        statuses=[(word, STATUS[word]) for word in STATUS],
    )


def open_questions() -> str:
    """Return the page of everything that the sources leave open: object, question, what would settle it."""
    rows = [(kind, name, point.what, point.until) for kind in KINDS for name in names(kind) for point in get(kind, name).open]
    return _render("open_questions.md.j2", rows=rows, objects=len({row[:2] for row in rows}))


def explorer_link(contract: str, row: Row | None, recipes: Collection[str], source: str = "fp32", beside: str | None = None) -> str | None:
    """Return the link that opens a row in the explorer; None where it has no room for it.

    row: None where the record holds it in part.   recipes: those that the explorer offers.   source: of the row's codes or values.
    beside: another recipe to show beside the contract's.
    """
    found = parse(contract)
    if row is None or (found.op in ("quantize", "dequantize") and found.parts[0] not in recipes):
        return None
    made = of_operands(
        contract_of(found, source), row.operands, row.where if found.op in ("decode", "dequantize", "transform") else ()
    ).link
    if made is not None and found.op == "quantize" and beside in recipes:
        room, _, state = made.partition("?")
        made = link(room, **dict(parse_qsl(state, keep_blank_values=True)) | {"b": beside})
    return None if made is None else f"{EXPLORER}#{made}"


def _kernel(row: Data, recipes: Collection[str] | None) -> Data:
    shown = ("kernel", "library", "package", "call", "contract", "claim", "identified", "differing", "compared")
    return {
        **{name: row[name] for name in shown},
        "verdict": "equal" if row["verdict"] == "pass" else row["verdict"],
        "failures": [failure(row, item, recipes) for item in row["failures"]],
    }


def failure(row: Data, item: Data, recipes: Collection[str] | None) -> Data:
    """Return a failure as its cell shows it: other contracts that give what the library gives, the link that opens it.

    row: of told().   item: one of its failures.   recipes: those that the explorer offers.
    """
    asked, operands = (parse(row["contract"]), row["source"]), item["operands"]
    same = alike(*asked, tuple(operands.items()), item["place"], item["want"], item["got"])
    known = [name for name in (parse(text).parts[0] for text in same) if recipes and name in recipes]
    opens = explorer_link(row["contract"], row_of(*asked, operands, item["place"]), recipes, row["source"], *known[:1]) if recipes else None
    return {**item, "operands": list(operands.items()), "alike": same, "link": opens}


def _pair(pair: Data, links: bool) -> Data:
    return {
        "sides": [_side(pair["first"]), _side(pair["second"])],
        "verdict": pair["verdict"],
        "count": "" if pair["verdict"] == machines.EQUAL else f"{pair['differ']:,} of {pair['rows']:,}",
        "row": list(pair.get("row", {}).items()),
        "results": pair.get("results"),
        "exact": pair.get("exact"),
        "link": f"{EXPLORER}#{link('dot', **pair['state'])}" if links and pair.get("state") else None,
    }  # fmt: skip


def _side(name: str) -> Data:
    model = get("datapath", name.partition("/")[0])
    return {"name": name, "id": model.id, "status": model.status, "from": _sources(model)}


def _alone(pairs: Sequence[Data]) -> list[Data]:
    """Return the machines, or their operands, in no pair: nothing else takes them, or nobody says what they compute."""
    there = {pair[key] for pair in pairs for key in ("first", "second")}
    left: dict[str, list[str]] = {}
    for side in machines.sides():
        if machines.is_machine(side.model) and side.name not in there:
            left.setdefault(side.model.id, []).append(side.name.partition("/")[2])
    found = [(name, f"nothing else takes these operands and gives this D: {', '.join(kinds)}") for name, kinds in left.items()]
    computed = {side.model.id for side in machines.sides()}
    found += [(name, _refusal(name)) for name in names("datapath") if name not in computed]
    return [
        {"id": name, "status": get("datapath", name).status, "from": _sources(get("datapath", name)), "why": why} for name, why in found
    ]


def _refusal(name: str) -> str:
    try:
        resolve(name)
    except EmuError as error:
        return str(error).partition(": ")[2]
    return ""


def _sources(model: Datapath) -> str:
    return ", ".join(dict.fromkeys(source.ref for source in model.sources))


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
    pages.filters["runs"] = _runs
    return pages.get_template(name).render(given)


def _cut(text: str, longest: int = 60) -> str:
    return text if len(text) <= longest else text[: longest - 1] + "…"


def _runs(text: str) -> str:
    """Return the hexadecimal codes of a row without a long run of zeros at their end."""
    kept = text.rstrip("0")
    return text if len(text) - len(kept) < 8 else f"{kept}0 … 0"
