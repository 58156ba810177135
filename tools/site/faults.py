"""What is wrong with a built site: links, requests to outside, pages that are missing, words that are not for readers."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote, urlsplit

import yaml

ASKS: Final = {*((tag, "src") for tag in ("script", "img", "iframe", "source", "video", "audio")), ("link", "href"), ("object", "data")}
HARMLESS: Final = ("canonical", "alternate", "prev", "next")  # <link rel=...> that names an address and loads nothing
PRIVATE: Final = re.compile(r"(?<![\w./])/(?:tmp|home|work|root|Users)/\w|\bTODO\b|\bFIXME\b|\bXXX\b|\blorem ipsum\b", re.IGNORECASE)
STYLE: Final = re.compile(r"(?:@import\s+|url\()\s*['\"]?(https?:)?//")


class _Page(HTMLParser):
    """Names, links, requests and the text of one page. Scripts and styles are no text."""

    def __init__(self) -> None:
        super().__init__()
        self.names: set[str] = set()
        self.links: list[str] = []
        self.asks: list[str] = []
        self.words: list[str] = []
        self._quiet = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.names.update(given[name] for name in ("id", "name") if name in given)
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        for name, value in given.items():
            if (tag, name) in ASKS and not (tag == "link" and given.get("rel") in HARMLESS):
                self.asks.append(value)
        self._quiet += tag in ("script", "style")

    def handle_endtag(self, tag: str) -> None:
        self._quiet -= tag in ("script", "style")

    def handle_data(self, data: str) -> None:
        if not self._quiet:
            self.words.append(data)


def faults(html: Path, config: Path) -> list[str]:
    """Return one line for each fault of the site in the folder `html`, sorted.

    config: the generator's file; each page that its tree names must be there.   Tests: tests/site/test_site_faults.py.
    """
    pages = {path.relative_to(html).as_posix(): _read(path) for path in sorted(html.rglob("*.html"))}
    found = [f"{config.name}: names {name}, which is not there" for name in named(config) if name not in pages]
    for name, page in pages.items():
        found += [f"{name}: asks for {address} outside" for address in page.asks if urlsplit(address).netloc]
        found += [f"{name}: asks for {address}, which is not there" for address in page.asks if not _there(html, name, address, pages)]
        found += [f"{name}: links to {address}, which is not there" for address in page.links if not _there(html, name, address, pages)]
        said = PRIVATE.search(" ".join(page.words)) if not name.startswith("repository/CONTRIBUTING") else None
        found += [f"{name}: says {said[0]!r}"] if said else []
    for path in sorted(html.rglob("*.css")):
        found += [f"{path.relative_to(html)}: asks for something outside"] if STYLE.search(path.read_text(encoding="utf-8")) else []
    return sorted(set(found))


def named(config: Path) -> list[str]:
    """Return the HTML files of the pages that the generator's tree names."""
    loaded = yaml.safe_load(config.read_text(encoding="utf-8"))
    return [re.sub(r"README$", "index", name.removesuffix(".md")) + ".html" for name in _leaves(loaded["nav"])]


def _leaves(tree: Any) -> Iterator[str]:
    if isinstance(tree, str):
        yield tree
    elif isinstance(tree, dict):
        for value in tree.values():
            yield from _leaves(value)
    else:
        for value in tree:
            yield from _leaves(value)


def _read(path: Path) -> _Page:
    page = _Page()
    page.feed(path.read_text(encoding="utf-8"))
    return page


def _there(html: Path, name: str, address: str, pages: dict[str, _Page]) -> bool:
    """Say whether a page's link leads to a file of the site, and to a name in it; links to outside are not followed."""
    parts = urlsplit(address)
    if parts.scheme or parts.netloc:
        return True
    path = unquote(parts.path)
    target = (html / name).parent / path if path else html / name
    if not target.resolve().is_file():
        return False
    other = target.resolve().relative_to(html.resolve()).as_posix()
    anchor = unquote(parts.fragment)
    if not anchor or other not in pages or "?" in anchor:  # behind a ? stands a state of the explorer
        return True
    return anchor in pages[other].names or anchor.startswith("__")
