"""Pictures of every room at two widths and in both themes: the same state looks the same however it was reached.

Pictures of one browser in one run are compared, pixel for pixel: another machine has other letters, so none is kept.
"""

from collections.abc import Iterator
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest
from matplotlib.image import imread
from support import devtools
from support.explorer import browser, link, planted

PLACES = {
    "number": link("number", code="0x40466666", to="e4m3"),
    "block": link("block", x=" ".join(["1.5", "-3", "0.3", "7"] * 8), flip=1),
    "dot": link("dot", turn=1),
    "layout": link("layout", rows=16, row=3),
    "dequantize": link("dequantize", element=3),
    "tensor": link("tensor"),
}
WIDTHS, THEMES = (1280, 390), ("light", "dark")
THERE = """history.replaceState(null, "", PLACE); dispatchEvent(new HashChangeEvent("hashchange"));"""
DRAGGED = """const at = selector => document.querySelector(selector), box = at("#line").getBoundingClientRect();
for (const [kind, share] of [["pointerdown", 0.2], ["pointermove", 0.7], ["pointermove", 0.4], ["pointerup", 0.4]])
    at("#line").dispatchEvent(new PointerEvent(kind, {clientX: box.left + share * box.width, clientY: box.top,
        bubbles: true, cancelable: true}));
return location.hash;"""


def looks(tab, width: int, theme: str) -> bytes:
    """The page as it is, at a width and in a theme."""
    tab.size(width)
    tab.theme(theme)
    return tab.picture()


def fresh(tab, address: str, width: int, theme: str) -> bytes:
    """The page opened anew."""
    tab.open("about:blank")
    tab.size(width)
    tab.theme(theme)
    tab.open(address)
    return tab.picture()


def shows_nothing(data: bytes, width: int, theme: str) -> bool:
    """Whether a picture has hardly a colour, another width, or another theme."""
    pixels = imread(BytesIO(data))[::2, :, :3]
    colours = len(np.unique((pixels * 255).astype(np.uint32) @ np.array([1 << 16, 1 << 8, 1], np.uint32)))
    return colours < 16 or pixels.shape[1] != width or (float(np.median(pixels)) < 0.5) != (theme == "dark")


def different(page: str, folder: Path, rooms: tuple[str, ...] = tuple(PLACES)) -> Iterator[tuple]:
    """Rooms, widths, themes and the way by which they look other than when they are opened from a file; pictures that show nothing."""
    (folder / "page.html").write_text(page, encoding="utf-8")
    first, each = {}, [(width, theme) for width in WIDTHS for theme in THEMES]
    with devtools.served(folder) as served, devtools.page(browser()) as tab:
        for room in rooms:
            for way in each:
                first[room, *way] = fresh(tab, f"{folder.as_uri()}/page.html{PLACES[room]}", *way)
                if shows_nothing(first[room, *way], *way) or list(first.values()).count(first[room, *way]) > 1:
                    yield room, *way, "nothing, or what another picture shows"
        for room in rooms:  # over http, after other windows and themes
            tab.open(f"{served}/page.html?{room}{PLACES[room]}")
            for way in (each[0], each[3]):
                if looks(tab, *way) != first[room, *way]:
                    yield room, *way, "http"
        for room in (*rooms[1:], rooms[0]):  # from room to room, and from theme to theme
            tab.ask(THERE.replace("PLACE", repr(PLACES[room])))
            for way in (each[2], each[1]):
                if looks(tab, *way) != first[room, *way]:
                    yield room, *way, "another room"
        if "number" in rooms:
            place = tab.ask(DRAGGED)
            after = looks(tab, *each[0])
            if not fresh(tab, f"{folder.as_uri()}/page.html{place}", *each[0]) == after != first["number", *each[0]]:
                yield "number", *each[0], "a drag"


def test_a_room_looks_the_same_however_it_was_reached(page, tmp_path):
    assert list(different(page, tmp_path)) == []


DRAWN = "page.innerHTML = text;"
FAULTS = {
    "colours by chance": ("`var(--bin${(from + i) % 4})`", "`var(--bin${Math.trunc(4 * Math.random())})`"),
    "another look over http": ("  beginDrags();\n", "  beginDrags();\n  document.body.hidden = location.protocol === 'http:';\n"),
    "what was there before stays": (DRAWN, "page.insertAdjacentHTML('beforeend', text);"),
    "one theme": ("@media (prefers-color-scheme: dark)", "@media (prefers-color-scheme: none)"),
    "the end of a drag is not drawn": ("if (held) { held = null; go({}); }", "held = null;"),
}  # fmt: skip


@pytest.mark.cases(3, 0)
@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_of_looks_is_noticed(page, tmp_path, fault):
    assert next(different(planted(page, *FAULTS[fault]), tmp_path, ("number",)), None)
