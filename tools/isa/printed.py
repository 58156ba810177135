"""The proposal as one HTML file that asks for nothing from outside, and as PDF by headless Chromium."""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Final

from markdown_it import MarkdownIt

from emu.base.errors import ToolError
from emu.base.templates import filled
from tools.isa import TEMPLATES

BROWSERS: Final = ("chromium", "chromium-browser", "google-chrome")
_AWAY: Final = re.compile(r"\[([^\]]*)\]\((?!#|https://)[^)]*\)")  # links to other files of the repository
_HEADING: Final = re.compile(r"<h([23])>(.*?)</h\1>")
_TAG: Final = re.compile(r"<strong>([A-Z]{2,3}-\d+)</strong>")
_NAMED: Final = re.compile(r"(?<![\w\">\0-])([A-Z]{2,3}-\d+)(?![\w-])")  # not where the clause itself stands
_CLAUSE: Final = re.compile(r"\bclause (\d+)\b")
_LISTING: Final = re.compile(r"(<pre><code[^>]*>)(.*?)(</code></pre>)", re.DOTALL)
_PRE: Final = re.compile(r"(<pre>.*?</pre>|<[^>]+>)", re.DOTALL)


def html_text(page: str) -> str:
    """Return the page as HTML: numbered headings and clauses are targets, a clause that is named is a link to it."""
    text = _AWAY.sub(r"\1", re.sub(r"\A<!--.*?-->\n", "", page))
    body = MarkdownIt("commonmark", {"html": False}).enable("table").render(text)
    tags = set(_TAG.findall(body))
    body = _TAG.sub(lambda found: f'<strong id="{found[1].lower()}">\0{found[1]}</strong>', body)
    pieces = _PRE.split(body)
    pieces[::2] = [
        _CLAUSE.sub(r'<a href="#clause-\1">clause \1</a>', _NAMED.sub(lambda found: _link(found[1], tags), piece)) for piece in pieces[::2]
    ]
    body = _LISTING.sub(_parts, "".join(pieces).replace("\0", ""))
    contents = "".join(f'<li><a href="#{_target(text)}">{text}</a></li>\n' for level, text in _HEADING.findall(body) if level == "2")
    body = _HEADING.sub(lambda found: f'<h{found[1]} id="{_target(found[2])}">{found[2]}</h{found[1]}>', body)
    body = body.replace("</h1>\n", f"</h1>\n<nav><ul>\n{contents}</ul></nav>\n", 1)
    title = re.sub(r"<[^>]+>", "", body.partition("</h1>")[0])
    return filled(TEMPLATES / "print.html.j2", title=title, body=body)


def _parts(listing: re.Match[str]) -> str:
    """Return a listing in parts, cut at its empty lines, which the style keeps together in print."""
    return listing[1] + "".join(f"<span>{part}</span>" for part in re.split(r"(?<=\n\n)", listing[2])) + listing[3]


def _link(tag: str, tags: set[str]) -> str:
    return f'<a href="#{tag.lower()}">{tag}</a>' if tag in tags else tag


def _target(heading: str) -> str:
    return "clause-" + heading.partition(" ")[0].rstrip(".").replace(".", "-")


def browser() -> str:
    """Return the path of Chromium. Raises: ToolError (there is none)."""
    found = next((path for name in BROWSERS if (path := shutil.which(name))), None)
    if found is None:
        raise ToolError("no chromium here to print the PDF: apt-get install chromium, or leave it out: --no-pdf")
    return found


def pdf_bytes(html: str, command: str) -> bytes:
    """Return the PDF that Chromium prints of an HTML text. Raises: ToolError (it printed nothing)."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "page.html").write_text(html, encoding="utf-8")
        words = [command, "--headless", "--disable-gpu", "--no-sandbox", f"--user-data-dir={folder / 'profile'}", "--no-pdf-header-footer"]
        words += [f"--print-to-pdf={folder / 'page.pdf'}", (folder / "page.html").as_uri()]
        done = subprocess.run(words, capture_output=True, text=True, timeout=120, check=False)
        if not (folder / "page.pdf").is_file():
            raise ToolError(f"{command} printed no PDF (exit code {done.returncode}): {done.stderr.strip()[-200:]}")
        return (folder / "page.pdf").read_bytes()
