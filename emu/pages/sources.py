"""The page of sources: every document and code base, what was looked at, and the objects whose facts came from it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from emu.pages.render import Links, Ref, render
from emu.spec import KINDS, get, names
from emu.spec.known import load_sources

_READ = {
    "text": "the text was read",
    "code": "the code was read",
    "run": "it was run, and its output compared",
    "abstract": "only the abstract was read",
    "quoted": "only what others cite of it",
}


def sources_page(root: Path) -> str:
    """Return the page. root: a source tree with spec/sources.yaml."""
    users: dict[str, list[Any]] = {}
    for kind in KINDS:
        for name in names(kind):
            for ref in dict.fromkeys(source.ref for source in get(kind, name).sources):
                users.setdefault(ref, []).append((f"{kind} ", Ref(kind, name)))
    entries = [(entry, _READ[entry.read], users.get(entry.id)) for entry in load_sources(root / "spec")]
    return render("sources", Links(""), entries=entries)
