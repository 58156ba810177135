"""All pages of docs/reference together: of every object, side by side, and of the source of the exact engine."""

from __future__ import annotations

from pathlib import Path

from emu.pages.frame import all_users
from emu.pages.objects import object_page
from emu.pages.render import Links
from emu.spec import KINDS, get, names
from tools.docs.grids import four_bit_grids, grids_page, grids_picture
from tools.docs.overviews import contents_page, datapaths_page, instructions_page, policies_page, sources_page
from tools.docs.products import products_page
from tools.docs.reference import spec_page
from tools.docs.reference_model import reference_model_pages
from tools.docs.source import reference_model
from tools.docs.stores import stores_page

FOLDER = "docs/reference"


def reference_texts(root: Path) -> dict[str, str]:
    """Return path in the source tree -> text of every reference page, for the registry as it stands and the reference model of a tree.

    root: a source tree.   Raises: FileError (no reference model in the tree), SpecError (a fault of the spec).
    """
    modules = reference_model(root)
    users = all_users()
    texts = {
        f"{FOLDER}/spec.md": spec_page(),
        f"{FOLDER}/contents.md": contents_page(),
        f"{FOLDER}/policies.md": policies_page(),
        f"{FOLDER}/grids.md": grids_page(),
        f"{FOLDER}/grids.svg": grids_picture(four_bit_grids()),
        f"{FOLDER}/datapaths.md": datapaths_page(),
        f"{FOLDER}/instructions.md": instructions_page(),
        f"{FOLDER}/products.md": products_page(),
        f"{FOLDER}/sources.md": sources_page(root),
        f"{FOLDER}/stores.md": stores_page(),
    }
    for kind in KINDS:
        for name in names(kind):
            texts[f"{FOLDER}/{kind}/{name}.md"] = object_page(get(kind, name), users, Links())
    return texts | reference_model_pages(modules)
