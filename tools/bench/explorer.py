"""What one move of a drag costs in the explorer: milliseconds of its scripts and of the layout that they ask for, in headless Chromium."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Final, NamedTuple

from emu.base.errors import ToolError
from emu.explore.build import page
from tools.isa.printed import BROWSERS

CASES: Final = {
    "a number along the line of E2M1": ("number", "#line"),
    "a number along the line of E4M3": ("number?to=e4m3", "#line"),
    "a bar of Block, 32 values": ("block", '[data-bar="3"] .bar'),
    "a bar of Block, 4 rows, random words": (f"block?a=ufp4_sr&b=ufp4&rows=4&x={64 * '1.5+'}", '[data-bar="3"] .bar'),
    "a bar of Block, rotated": ("block?a=nvfp4_ggml&b=nvfp4_mlx_cpu&rotate=rht16_te_fp32", '[data-bar="3"] .bar'),
}  # a place of the page, and what is dragged there
MOVES: Final = 60  # of a drag; the first ten are not counted
DRAG: Final = """const found = CASES.map(([place, target]) => {
    history.replaceState(null, "", "#" + place); dispatchEvent(new HashChangeEvent("hashchange"));
    const at = () => document.querySelector(target), box = at().closest("svg").getBoundingClientRect(), times = [];
    const send = (kind, share) => at().dispatchEvent(new PointerEvent(kind, {bubbles: true, cancelable: true,
        clientX: box.left + share * box.width, clientY: box.top + share * box.height}));
    send("pointerdown", 0.3);
    for (let i = 0; i < MOVES; i++) {
        const begin = performance.now();
        send("pointermove", 0.2 + 0.6 * (i * 37 % MOVES) / MOVES);
        const drawn = performance.now();
        document.body.getBoundingClientRect();
        times.push([drawn - begin, performance.now() - drawn]);
    }
    send("pointerup", 0.3);
    return times;
});
document.querySelector("#times").textContent = JSON.stringify(found);"""


class Drag(NamedTuple):
    """One case: milliseconds of a move, medians; both: scripts and layout together, and what one move in twenty passes."""

    name: str
    script: float
    layout: float
    both: float
    slow: float


def run_drags(repeats: int, progress: Callable[[str], None]) -> list[Drag]:
    """Drag in each room, `repeats` times in a browser of its own. Raises: ToolError (what makes or shows the page is absent)."""
    command = next((path for name in BROWSERS if (path := shutil.which(name))), None)
    if command is None:
        raise ToolError("no chromium here: apt-get install chromium, drags are measured in it")
    script = DRAG.replace("CASES", json.dumps(list(CASES.values()))).replace("MOVES", str(MOVES))
    html = page().replace("</body>", f"<pre id=times></pre><script>{script}</script></body>")
    moves: list[list[tuple[float, float]]] = [[] for _ in CASES]
    for turn in range(repeats):
        progress(f"drags, round {turn + 1}")
        for kept, times in zip(moves, _measured(html, command), strict=True):
            kept.extend(times[10:])
    return [_drag(name, kept) for name, kept in zip(CASES, moves, strict=True)]


def _measured(html: str, command: str) -> list[list[tuple[float, float]]]:
    """Return the milliseconds of scripts and layout of each move, for each case."""
    with tempfile.TemporaryDirectory() as name:
        file = Path(name) / "page.html"
        file.write_text(html, encoding="utf-8")
        words = [command, "--headless", "--disable-gpu", "--no-sandbox", f"--user-data-dir={Path(name) / 'profile'}", "--dump-dom"]
        done = subprocess.run([*words, file.as_uri()], capture_output=True, text=True, check=False, timeout=300)
    told = re.search(r'<pre id="times">(\[.*?\])</pre>', done.stdout)
    if told is None:
        raise ToolError(f"{command}: it measured nothing: {done.stderr.strip()[-300:] or 'it printed no page'}")
    found: list[list[tuple[float, float]]] = json.loads(told[1])
    return found


def _drag(name: str, moves: list[tuple[float, float]]) -> Drag:
    both = sorted(script + layout for script, layout in moves)
    script, layout = (median(times) for times in zip(*moves, strict=True))
    return Drag(name, script, layout, median(both), both[len(both) * 19 // 20])


def drags_table(rows: list[Drag]) -> str:
    """Return a Markdown table."""
    lines = ["| drag | scripts, ms | layout, ms | both | 19 of 20 moves below |", "| --- | ---: | ---: | ---: | ---: |"]
    lines += [f"| {row.name} | {row.script:.1f} | {row.layout:.1f} | {row.both:.1f} | {row.slow:.1f} |" for row in rows]
    return "\n".join(lines) + "\n"
