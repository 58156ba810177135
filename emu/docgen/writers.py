"""Which module writes the pages of which kind, and all pages of docs/reference together."""

from __future__ import annotations

from pathlib import Path

from emu.docgen.contents import contents_page
from emu.docgen.frame import Context, Writer, all_users, page, plain_body
from emu.docgen.pages import block, checkpoint, conversion, coverage, datapath, instruction, layout, recipe, rounding, training, transform
from emu.docgen.pages import format as format_page
from emu.docgen.pages.conversion import comparison_page
from emu.docgen.pages.datapaths import comparison_page as datapaths_page
from emu.docgen.pages.grids import four_bit_grids, grids_page
from emu.docgen.pages.grids_picture import grids_picture
from emu.docgen.pages.instructions import comparison_page as instructions_page
from emu.docgen.pages.oracle import oracle_pages
from emu.docgen.pages.sources import sources_page
from emu.docgen.reference import spec_page
from emu.docgen.source import oracle
from emu.spec import KINDS, get, names

FOLDER = "docs/reference"
WRITERS: dict[str, Writer] = {
    "format": format_page.WRITER,
    "rounding": rounding.WRITER,
    "policy": conversion.WRITER,
    "block": block.WRITER,
    "layout": layout.WRITER,
    "transform": transform.WRITER,
    "recipe": recipe.WRITER,
    "datapath": datapath.WRITER,
    "instruction": instruction.WRITER,
    "coverage": coverage.WRITER,
    "checkpoint": checkpoint.WRITER,
    "training": training.WRITER,
}
PLAIN = Writer(plain_body)


def reference_texts(root: Path) -> dict[str, str]:
    """Return path in the source tree -> text of every reference page, for the registry as it stands and the oracle of a tree.

    root: a source tree.   Raises: FileError (no oracle in the tree), SpecError (a fault of the spec).
    """
    modules = oracle(root)
    context = Context(modules, all_users())
    texts = {
        f"{FOLDER}/spec.md": spec_page(),
        f"{FOLDER}/contents.md": contents_page(),
        f"{FOLDER}/policies.md": comparison_page(),
        f"{FOLDER}/grids.md": grids_page(),
        f"{FOLDER}/grids.svg": grids_picture(four_bit_grids()),
        f"{FOLDER}/datapaths.md": datapaths_page(),
        f"{FOLDER}/instructions.md": instructions_page(),
        f"{FOLDER}/sources.md": sources_page(root),
    }
    for kind in KINDS:
        for name in names(kind):
            texts[f"{FOLDER}/{kind}/{name}.md"] = page(get(kind, name), WRITERS.get(kind, PLAIN), context)
    return texts | oracle_pages(modules)
