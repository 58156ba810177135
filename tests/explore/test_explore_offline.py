"""No request leaves the page: every room is used over file:// and http, and the page itself is all that was asked for."""

import contextlib
import http.server
import json
import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from support import devtools
from support.explorer import browser

ROOMS = ("number", "block", "dot", "layout", "dequantize", "tensor")
USE = """const at = selector => document.querySelector(selector), seen = [];
for (const room of ROOMS) {
    location.hash = room;
    await new Promise(done => setTimeout(done, 50));
    seen.push([room, at("nav [aria-current]").dataset.room, Boolean(at("#sentence"))]);
    for (const id of ["copy-link", "copy-shell", "copy-python", "copy-c", "save"]) at("#" + id).click();
}
return seen;"""
MEASURE = """const at = selector => document.querySelector(selector);
const until = async what => { for (let i = 0; i < 600 && !what(); i++) await new Promise(done => setTimeout(done, 50)); };
await until(() => at("[name=tensor]"));
at("[name=tensor]").value = "array"; at("[name=tensor]").dispatchEvent(new Event("change", {bubbles: true}));
await until(() => at("#use"));
return Boolean(at("#use"));"""


@contextlib.contextmanager
def listening(folder: Path) -> Iterator[tuple[str, list[str]]]:
    """Serve a folder to this machine; the values are its address, and every path that anybody asked it for, workers too."""
    asked: list[str] = []

    class Kept(http.server.SimpleHTTPRequestHandler):
        def __init__(self, *args: object) -> None:
            super().__init__(*args, directory=str(folder))

        def log_request(self, *_: object) -> None:
            asked.append(self.path)

        def log_message(self, *_: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Kept) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}", asked
        finally:
            server.shutdown()


def leaving(page: str, folder: Path, way: str) -> list[str]:
    """Use every room of a page, and return what was asked for beside the page, by the tab or of the server."""
    (folder / "page.html").write_text(page, encoding="utf-8")
    np.save(folder / "given.npy", np.arange(32, dtype=np.float32))
    with listening(folder) as (address, asked), devtools.page(browser()) as tab:
        start = f"{address if way == 'http' else folder.as_uri()}/page.html"
        tab.open(start)
        assert tab.ask(USE.replace("ROOMS", json.dumps(ROOMS))) == [[room, room, True] for room in ROOMS]
        tab.choose_file("[name=file]", folder / "given.npy")
        assert tab.ask(MEASURE)
        assert start in tab.requests and asked[:1] == (["/page.html"] if way == "http" else [])
        inside = ("blob:", "data:")  # what the page made itself: its worker, a saved figure
        beside = [item for item in tab.requests if item.partition("#")[0] != start and not item.startswith(inside)]
        return beside + [item for item in asked if item != "/page.html"]


@pytest.mark.parametrize("way", ["http", "file"])
def test_no_request_leaves_the_page(page, tmp_path, way):
    assert leaving(page, tmp_path, way) == []


@pytest.mark.parametrize(
    "place", ["function figuresOf(file, tensor, recipe, report) {", "function drawTensor(state, page) {"]
)  # worker, page
def test_a_request_would_be_noticed(page, tmp_path, place):
    assert page.count(place) == 1
    asking = page.replace("default-src 'none'; ", "").replace("const PANEL", "let ORIGIN = ''; const PANEL")
    asking = asking.replace("postMessage(question)", "postMessage({...question, origin: location.origin})")
    asking = asking.replace("({data: {file, tensor, recipe}}) => {", "({data: {file, tensor, recipe, origin}}) => { ORIGIN = origin;")
    assert "/told" in leaving(asking.replace(place, place + " fetch(`${ORIGIN || location.origin}/told`);"), tmp_path, "http")
