"""The page for everybody: no finding of axe in any room, at two widths, in both themes and after a refusal; nothing wider than a phone."""

import ast
import json
import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from urllib.parse import urlencode

import numpy as np
import pytest
from support import devtools
from support.devtools import chromium
from support.explorer import answers, link, texts

import emu
from emu.engines.c_ref import c_reference
from emu.engines.c_ref.descriptor_file import descriptor_text
from emu.spec import get

ROOMS = ("number", "block", "dot", "layout", "tensor")
THEMES = {"light": (), "dark": ("--blink-settings=preferredColorScheme=0",)}
WIDTHS = {"desk": "--window-size=1280,1000", "phone": "--window-size=500,900"}  # headless Chromium makes no window below 500
REFUSED = {"number": "number?code=hello", "block": "block?x=", "dot": "dot?a=1", "layout": "layout?rows=0", "tensor": "tensor?recipe=none"}


@pytest.fixture(scope="session")
def axe() -> str:
    """The script of axe-core."""
    chromium("axe_playwright_python")
    return devtools.axe()


AUDIT = """return axe.run(document).then(found => ({
    findings: found.violations.map(item => [item.id, item.nodes.map(node => node.html.slice(0, 200))]), passes: found.passes.length,
    dark: matchMedia("(prefers-color-scheme: dark)").matches, wide: document.documentElement.scrollWidth - innerWidth,
    rooms: document.querySelectorAll("nav a").length, sentence: Boolean(document.querySelector("#sentence"))}));"""


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("room", ROOMS)
def test_axe_finds_nothing(page, axe, tmp_path, room, width, theme):
    with_axe = page.replace("<footer>", "<script>" + axe.replace("</script", "<\\/script") + "</script><footer>")
    given = descriptor_text([get("format", "e2m1"), get("policy", "nvidia")])
    place = {"block": "block?flip=1", "number": f"number?{urlencode({'own': given})}"}.get(room, room)
    said = answers(with_axe, AUDIT, tmp_path, place, (WIDTHS[width], *THEMES[theme]))
    assert said["findings"] == [] and said["passes"] > 15
    assert said["dark"] == (theme == "dark") and said["wide"] <= 0 and said["rooms"] == len(ROOMS) and said["sentence"]


@pytest.mark.parametrize("room", ROOMS)
def test_axe_finds_nothing_after_a_refusal(page, axe, tmp_path, room):
    with_axe = page.replace("<footer>", "<script>" + axe.replace("</script", "<\\/script") + "</script><footer>")
    said = answers(with_axe, AUDIT, tmp_path, REFUSED[room])
    assert said["findings"] == [] and not said["sentence"]


def test_axe_would_find_something(page, axe, tmp_path):
    with_axe = page.replace("<footer>", "<script>" + axe.replace("</script", "<\\/script") + "</script><input><footer>")
    assert "label" in [name for name, _ in answers(with_axe, AUDIT, tmp_path, "number")["findings"]]


COPIES = {
    "number": link("number", code="0x40600000", to="e4m3", round="sr_add8", policy="nvidia", r=77),
    "block": link("block", a="mxfp4_torchao_floor", b="nvfp4_modelopt", x=" ".join(["1.5", "-3", "0.3", "7"] * 8), amax="7"),
    "bf16": link("block", **{"from": "bf16"}, a="mxfp4_torchao_floor", b="nvfp4_te_ref", x="0x3FC1 0xC0FF 0x0081 0x7F00 " * 8),
    "dot": link("dot", m1="blackwell_mxf4nvf4_b16_ue4m3", m2="ideal/e2m1xe2m1/ue4m3/16", m3="none", a="1234567f" * 8, b="76543a21" * 8,
                sa="38393a01", sb="40384038", c="3f800001", turn=1),
    "levels": link("dot", m1="bf16_register_random", m2="none", m3="none", a="3f80" * 8, b="3f81" * 8, words="80 81 82"),
}  # fmt: skip
PRESS = """const out = {}; for (const [name, place] of Object.entries(PLACES)) {
    history.replaceState(null, "", place); dispatchEvent(new HashChangeEvent("hashchange"));
    document.querySelector("#copy-python").click();
    out[name] = [explorer.copied(), document.querySelector("#fault").textContent, explorer.text(place)];
} return out;"""


def test_copied_python_prints_what_the_page_says(page, tmp_path):
    said = answers(page, PRESS.replace("PLACES", json.dumps(COPIES)), tmp_path)
    for name, (text, fault, shown) in said.items():
        assert fault == "", (name, fault)
        ast.parse(text)
        done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True)
        if name == "number":
            assert int(done.stdout, 16) == int(shown["result"], 16)
        elif name in ("block", "bf16"):
            codes = [int(item["code"], 16) for side in "ab" for item in shown[side]["codes"]["items"]]
            assert [int(code) for code in re.findall("[0-9]+", done.stdout)] == codes
        else:
            assert [int(line, 16) for line in done.stdout.split()] == [int(run["d"], 16) for run in shown["runs"]]


def test_copied_c_prints_what_the_page_says(page, tmp_path):
    place = link("number", **{"from": "bf16"}, code="0x4049", to="e2m3", round="sr_add8", policy="nvidia", r=200)
    script = "document.querySelector('#copy-c').click(); return [explorer.copied(), document.querySelector('#fault').textContent];"
    text, fault = answers(page, script, tmp_path, place.removeprefix("#"))
    assert fault == ""
    (tmp_path / "main.c").write_text(text)
    source = c_reference()
    files_ = [*map(str, source.glob("src/*/*.c")), str(tmp_path / "main.c")]
    flags = ["-std=c99", "-Wall", "-Wextra", "-Werror", f"-I{source}", "-o", str(tmp_path / "main")]
    subprocess.run(["gcc", *flags, *files_], check=True)
    done = subprocess.run([str(tmp_path / "main")], capture_output=True, text=True, check=True)
    (shown,) = texts(page, [place], tmp_path)
    assert done.stdout == f"error 0, open 0, code 0x{int(shown['result'], 16):X}\n"
    code = emu.convert(np.array([0x4049], np.uint16), "e2m3", "sr_add8", "nvidia", source="bf16", random=np.array([200], np.uint32))
    assert int(code[0]) == int(shown["result"], 16)


SAVE = """let saved = null; const kept = URL.createObjectURL;
URL.createObjectURL = blob => { saved = blob; return kept.call(URL, blob); };
document.querySelector("#save").click();
return saved ? saved.text().then(text => [saved.type, text]) : document.querySelector("#fault").textContent;"""


@pytest.mark.parametrize("room", ["number", "block", "dot", "layout"])
def test_a_saved_figure_stands_alone(page, tmp_path, room):
    kind, text = answers(page, SAVE, tmp_path, room)
    figure = ET.fromstring(text)
    assert kind == "image/svg+xml" and figure.tag == "{http://www.w3.org/2000/svg}svg"
    assert "var(" not in text and len(list(figure.iter())) > 10 and "font-family" in text


def test_a_room_without_a_figure_says_so(page, tmp_path):
    assert answers(page, SAVE, tmp_path, "tensor").startswith("no figure here")
