"""Which module shows which kind, and the pages of a user's own objects. Not here: the whole reference of the repository (tools/docs)."""

from __future__ import annotations

from emu.base.errors import OperandError
from emu.pages import block, checkpoint, coverage, datapath, instruction, layout, policy, recipe, rounding, training, transform
from emu.pages import format as format_page
from emu.pages.contents import user_contents_page
from emu.pages.frame import Users, Writer, all_users, page
from emu.pages.render import Links
from emu.spec import KINDS, SpecObject, get, names
from emu.spec.registry import added_folders, shipped_root

WRITERS: dict[str, Writer] = {
    "format": format_page.WRITER,
    "rounding": rounding.WRITER,
    "policy": policy.WRITER,
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


def object_page(thing: SpecObject, users: Users, links: Links) -> str:
    """Return the page of one object. A kind that has no writer gets the facts as they are."""
    return page(thing, WRITERS.get(thing.kind, Writer()), users, links)


def user_pages() -> dict[str, str]:
    """Return path -> text: a page for each object that does not come with emu, and contents.md, which lists them.

    Objects that come with emu are plain names there, and so is what only the repository's reference has a page of.
    Raises: OperandError (no such object), SpecError (a fault of a file).   Tests: tests/pages/test_pages_user.py.
    """
    shipped = shipped_root()
    own = {kind: [get(kind, name) for name in names(kind) if not (shipped / kind / f"{name}.yaml").is_file()] for kind in KINDS}
    found = frozenset((kind, thing.id) for kind, things in own.items() for thing in things)
    if not found:
        raise OperandError("docs build: only objects that come with emu are known: name a folder with yours, --spec DIR")
    users = all_users()
    texts = {f"{thing.kind}/{thing.id}.md": object_page(thing, users, Links(own=found)) for things in own.values() for thing in things}
    return {"contents.md": user_contents_page(added_folders(), own, Links("", found))} | texts
