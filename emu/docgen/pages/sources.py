"""The page of sources: every document and code base, what was looked at, and the objects whose facts came from it."""

from __future__ import annotations

from pathlib import Path

from emu.docgen.markdown import link
from emu.spec import KINDS, get, names
from emu.spec.sources import load_sources

_READ = {
    "text": "the text was read",
    "code": "the code was read",
    "run": "it was run, and its output compared",
    "abstract": "only the abstract was read",
    "quoted": "only what others cite of it",
}


def sources_page(root: Path) -> str:
    """Return the page. root: a source tree with spec/sources.yaml."""
    lines = ["# Sources", "", "Every fact of the spec names one of these. *Read* says what was really looked at.", ""]
    users: dict[str, list[str]] = {}
    for kind in KINDS:
        for name in names(kind):
            for ref in dict.fromkeys(source.ref for source in get(kind, name).sources):
                users.setdefault(ref, []).append(f"{kind} {link(kind, name, '')}")
    for entry in load_sources(root / "spec"):
        lines += [f"## {entry.id}", "", f"**{entry.title}** ({entry.kind}; {entry.version})", ""]
        if entry.url:
            lines.append(f"- Where: {entry.url}")
        lines.append(f"- Read: {_READ[entry.read]}.")
        if entry.id in users:
            lines.append(f"- Facts of: {', '.join(users[entry.id])}")
        lines.append("")
    return "\n".join(lines)
