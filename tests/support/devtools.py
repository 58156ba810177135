"""Headless Chromium over its debugging pipe: open an address, run scripts, see every request. Not here: what a page must do (the tests)."""

import atexit
import base64
import contextlib
import functools
import http.server
import json
import os
import shutil
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from tools.isa.printed import BROWSERS

MISSING = 5  # the exit code of a missing tool, as of the command
WAIT = 120  # seconds for one answer


def chromium(*packages: str, tools: tuple[str, ...] = ()) -> str:
    """Return Chromium's path. Where something is missing the tests are skipped, or end with 5 (EMU_NEED_BROWSER)."""
    found = next((path for name in BROWSERS if (path := shutil.which(name))), None)
    lacking = [tool for tool in tools if shutil.which(tool) is None] + ([] if found else ["chromium"])
    lacking += [package for package in packages if find_spec(package) is None]
    if lacking and os.environ.get("EMU_NEED_BROWSER"):
        pytest.exit(f"the browser tests need {', '.join(lacking)}: CONTRIBUTING.md says how to install them", MISSING)
    if lacking or not os.environ.get("EMU_NEED_BROWSER"):
        pytest.skip(f"no {', '.join(lacking)} here" if lacking else "EMU_NEED_BROWSER=1 runs the pages in Chromium: a step of .ci/full")
    return found or ""


def axe() -> str:
    """Return the script of axe-core, which axe_playwright_python brings; nothing else of that package is used."""
    found = find_spec("axe_playwright_python")
    assert found is not None and found.submodule_search_locations
    return (Path(found.submodule_search_locations[0]) / "axe.min.js").read_text(encoding="utf-8")


class Browser:
    """Chromium, asked over its pipe. heard: what is told of what the tab of each session does."""

    def __init__(self, binary: str) -> None:
        here_read, there_write = os.pipe()
        there_read, here_write = os.pipe()
        self._folder = tempfile.TemporaryDirectory(prefix="emu-browser-", ignore_cleanup_errors=True)
        command = [binary, "--headless", "--disable-gpu", "--no-sandbox", "--hide-scrollbars", "--remote-debugging-pipe"]
        command += [
            "--disable-background-networking",
            "--disable-renderer-backgrounding",  # each tab is the one that is looked at
            "--disable-backgrounding-occluded-windows",
            "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
            f"--user-data-dir={self._folder.name}",
        ]
        # Chromium reads from 3 and writes to 4; the first step keeps either end from lying on the other's place.
        moved = f'exec 8<&{there_read} 9>&{there_write} && exec 3<&8 4>&9 && exec "$@"'
        joined = ["bash", "-c", moved, "bash", *command, "about:blank"]
        self.process = subprocess.Popen(joined, pass_fds=(there_read, there_write), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(there_read)
        os.close(there_write)
        self._in, self._out = here_write, os.fdopen(here_read, "rb", buffering=0)
        self._rest, self._count = b"", 0
        self.heard: dict[str, Callable[[str, dict[str, Any]], None]] = {}

    def close(self) -> None:
        """End the browser."""
        self.process.kill()
        self.process.wait()
        os.close(self._in)
        self._out.close()
        self._folder.cleanup()

    def call(self, method: str, session: str = "", **params: Any) -> Any:
        """Return the answer to a command of the protocol. session: of a tab; "": the browser's own."""
        self._count += 1
        number = self._count
        message = {"id": number, "method": method, "params": params} | ({"sessionId": session} if session else {})
        os.write(self._in, json.dumps(message).encode() + b"\0")
        end = time.monotonic() + WAIT
        while time.monotonic() < end:
            found = self.read()
            if found.get("id") == number:
                assert "error" not in found, f"{method}: {found['error']}"
                return found["result"]
        raise AssertionError(f"{method}: no answer within {WAIT} s")

    def read(self) -> dict[str, Any]:
        """Return what is said next; what tells of a tab goes to it."""
        while b"\0" not in self._rest:
            piece = self._out.read(1 << 16)
            assert piece, "Chromium ended"
            self._rest += piece
        text, _, self._rest = self._rest.partition(b"\0")
        found: dict[str, Any] = json.loads(text)
        if "method" in found and found.get("sessionId") in self.heard:
            self.heard[found["sessionId"]](found["method"], found["params"])
        return found


class Page:
    """One tab, with storage and cache of its own. requests: every address that it asked for."""

    def __init__(self, browser: Browser) -> None:
        self.browser = browser
        self._context = browser.call("Target.createBrowserContext")["browserContextId"]
        target = browser.call("Target.createTarget", url="about:blank", browserContextId=self._context)["targetId"]
        self._session = browser.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        self._events: list[str] = []
        self.requests: list[str] = []
        browser.heard[self._session] = self._hear
        for domain in ("Page", "Network", "Runtime"):
            self._call(f"{domain}.enable")
        self._call("Emulation.setFocusEmulationEnabled", enabled=True)

    def _hear(self, event: str, params: dict[str, Any]) -> None:
        self._events.append(event)
        if event == "Network.requestWillBeSent":
            self.requests.append(params["request"]["url"])

    def close(self) -> None:
        """Close the tab, and forget what it kept."""
        del self.browser.heard[self._session]
        self.browser.call("Target.disposeBrowserContext", browserContextId=self._context)

    def size(self, width: int, height: int = 900) -> None:
        """Give the window another size."""
        self._call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def theme(self, name: str) -> None:
        """Let the system prefer "light" or "dark"."""
        self._call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": name}])

    def open(self, address: str) -> None:
        """Load an address and wait for its load event; another place of the page that is open has none."""
        self._events.clear()
        answer = self._call("Page.navigate", url=address)
        assert "errorText" not in answer, f"{address}: {answer['errorText']}"
        self._until("Page.loadEventFired")

    def follow(self, script: str) -> None:
        """Run a script that leads to another page, and wait for that page's load event."""
        self._events.clear()
        self.ask(script)
        self._until("Page.loadEventFired")

    def picture(self) -> bytes:
        """Return the whole page as it is drawn now, as PNG: equal bytes are equal pixels."""
        drawn = "await new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)));"
        height = self.ask(drawn + "return document.documentElement.scrollHeight;")
        clip = {"x": 0, "y": 0, "width": self.ask("return innerWidth;"), "height": height, "scale": 1}
        return base64.b64decode(self._call("Page.captureScreenshot", format="png", captureBeyondViewport=True, clip=clip)["data"])

    def choose_file(self, selector: str, path: Path) -> None:
        """Choose a file in a field, as a user does."""
        root = self._call("DOM.getDocument")["root"]["nodeId"]
        node = self._call("DOM.querySelector", nodeId=root, selector=selector)["nodeId"]
        self._call("DOM.setFileInputFiles", nodeId=node, files=[str(path)])

    def ask(self, script: str) -> Any:
        """Return what an asynchronous function with this body returns, through JSON."""
        answer = self._call("Runtime.evaluate", expression=f"(async () => {{ {script} }})()", awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"].get("exception", answer["exceptionDetails"])
        return answer["result"].get("value")

    def _call(self, method: str, **params: Any) -> Any:
        return self.browser.call(method, self._session, **params)

    def _until(self, event: str) -> None:
        end = time.monotonic() + WAIT
        while event not in self._events:
            assert time.monotonic() < end, f"no {event} within {WAIT} s"
            self.browser.read()


_browsers: dict[str, Browser] = {}  # by path: one for all tests of this process


def _browser(binary: str) -> Browser:
    found = _browsers.get(binary)
    if found is None or found.process.poll() is not None:
        found = _browsers[binary] = Browser(binary)
        atexit.register(found.close)
    return found


@contextlib.contextmanager
def page(binary: str) -> Iterator[Page]:
    """A tab, closed with the block; where that fails the browser is ended, and the next tab has another."""
    tab = Page(_browser(binary))
    try:
        yield tab
    finally:
        try:
            tab.close()
        except (AssertionError, OSError):
            tab.browser.process.kill()
            tab.browser.process.wait()


@contextlib.contextmanager
def served(folder: Path) -> Iterator[str]:
    """Serve a folder to this machine; the value is its address."""

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=folder)) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()
