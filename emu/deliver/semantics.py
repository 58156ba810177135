"""One HTML page of what contracts mean: the page of every spec object that decides their bits, in one file that leads nowhere else."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from markdown_it import MarkdownIt

from emu.base.templates import filled
from emu.pages.frame import all_users
from emu.pages.objects import object_page
from emu.pages.render import Links
from emu.spec import KINDS, get
from emu.spec.contract import ContractName

TEMPLATE: Final = Path(__file__).with_name("semantics.html.j2")
Object = tuple[str, str]  # kind, id
_TARGET: Final = re.compile(r"\]\((?:\.\./)?([a-z]+)/([a-z0-9_]+)\.md(?:#[a-z0-9_-]*)?\)")
_ELSEWHERE: Final = re.compile(r"\[([^\]]*)\]\((?!#)[^)]*\)")  # links that lead out of the page
_HEADING: Final = re.compile(r"^(#+) ", re.MULTILINE)


def objects_of(contracts: Sequence[ContractName]) -> list[Object]:
    """Return the spec objects that decide the bits of contracts, those that they name first, each once."""
    found: dict[Object, None] = {}
    todo = [(thing.kind, thing.id) for contract in contracts for thing in contract.objects]
    while todo:
        one = todo.pop(0)
        if one not in found:
            found[one] = None
            todo += [(kind, str(get(kind, name).id)) for kind, name, _ in get(*one).references() if kind in KINDS]
    return list(found)


def semantics_page(contracts: Sequence[ContractName]) -> str:
    """Return the HTML page of contracts: one file, no script, no picture, no address outside of it.

    Raises: SpecError (a fault of an object).   Tests: tests/deliver/test_deliver_folder.py.
    """
    found = objects_of(contracts)
    users, links = all_users(), Links(own=frozenset(found))
    markdown = MarkdownIt("commonmark", {"html": False}).enable("table")
    sections = []
    for kind, name in found:
        text = _TARGET.sub(lambda match: f"](#{match[1]}-{match[2]})", object_page(get(kind, name), users, links))
        text = _ELSEWHERE.sub(r"\1", text)
        text = _HEADING.sub(r"#\1 ", text).replace("<br>", " ")
        sections.append({"id": f"{kind}-{name}", "kind": kind, "name": name, "title": get(kind, name).title, "body": markdown.render(text)})
    return filled(TEMPLATE, contracts=contracts, sections=sections)
