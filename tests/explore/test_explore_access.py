"""The page for everybody, at two widths and in both themes: axe finds nothing, nothing lies outside, over another, or cut off."""

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

OWN = descriptor_text([get("format", "e2m1"), get("policy", "nvidia")])
RECIPE, DATAPATH = descriptor_text([get("recipe", "mxfp4_torchao_floor")]), descriptor_text([get("datapath", "hopper_fp8")])
LAYOUT = descriptor_text([get("layout", "sf8x4")])
STATES = {
    "number": "number", "a format of one's own": f"number?{urlencode({'own': OWN})}", "block": "block",
    "a recipe of one's own": f"block?{urlencode({'own': RECIPE})}", "a datapath of one's own": f"dot?{urlencode({'own': DATAPATH})}",
    "nearest changes": "block?flip=1",
    "signs of a rotation": "block?rotate=rht16_ufp4", "dot": "dot", "layout": "layout?rows=16&row=3",
    "nibble orders": "layout?layout=high_nibble_first&rows=4&row=3&codes=40",
    "a layout of one's own": f"layout?{urlencode({'own': LAYOUT, 'rows': 16, 'row': 3})}",
    "steps back of one's own": f"dequantize?{urlencode({'own': RECIPE})}",
    "dequantize": "dequantize?element=3", "a code": "number?from=e8m0&code=0x80&to=fp32&policy=ieee",
    "tensor": "tensor",
}  # fmt: skip
REFUSED = {
    "number": "number?code=hello",
    "block": "block?x=",
    "dot": "dot?a=1",
    "layout": "layout?rows=0",
    "dequantize": "dequantize?codes=1",
    "tensor": "tensor?recipe=none",
}
DESK, PHONE = 1280, 390


@pytest.fixture(scope="module")
def tab(page, tmp_path_factory):
    """A tab with the page and axe-core, for all tests that look at it."""
    folder, binary = tmp_path_factory.mktemp("access"), chromium("axe_playwright_python", tools=("clang", "wasm-ld"))
    (folder / "page.html").write_text(page, encoding="utf-8")
    with devtools.page(binary) as opened:
        opened.open((folder / "page.html").as_uri())
        opened.ask(devtools.axe() + "; window.axe = axe;")
        yield opened


AUDIT = """history.replaceState(null, "", "#" + PLACE); dispatchEvent(new HashChangeEvent("hashchange"));
const found = await axe.run(document, {resultTypes: ["violations"]}), name = item => item.outerHTML.slice(0, 100);
const boxes = [...document.querySelectorAll("input, select, textarea, button, a, #sentence, h1, h2, h3, dt, dd")]
    .map(item => ({item, box: item.getBoundingClientRect(), held: item.closest(".wide, .memory")}))
    .filter(({box}) => box.width && box.height);
const across = (a, b) =>
    Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1 && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 1;
const pairs = (list, meet) => list.flatMap((one, i) => list.slice(i + 1).filter(two => meet(one, two)).map(two => [one, two]));
return {findings: found.violations.map(item => [item.id, item.nodes.map(node => node.html.slice(0, 200))]), passes: found.passes.length,
    dark: matchMedia("(prefers-color-scheme: dark)").matches, width: innerWidth, boxes: boxes.length,
    rooms: document.querySelectorAll("nav a").length, sentence: Boolean(document.querySelector("#sentence")),
    wide: document.documentElement.scrollWidth > innerWidth ? ["the page"] : [],
    outside: boxes.filter(({box, held}) => !held && (box.left < 0 || box.right > innerWidth)).map(({item}) => name(item)),
    over: pairs(boxes, (one, two) => one.held === two.held && !one.item.contains(two.item) && !two.item.contains(one.item) &&
        across(one.box, two.box)).map(([one, two]) => [name(one.item), name(two.item)]),
    cut: boxes.filter(({item}) => item.matches("button, dd, dt, h1, h2, h3") && item.scrollWidth > item.clientWidth + 1)
        .map(({item}) => name(item)),
    words: [...document.querySelectorAll("svg")].flatMap(figure => pairs([...figure.querySelectorAll("text")].map(item =>
        ({item, box: item.getBoundingClientRect()})).filter(({box}) => box.width), (one, two) => across(one.box, two.box)))
        .map(([one, two]) => [one.item.textContent, two.item.textContent])};"""
WRONG = ("findings", "wide", "outside", "over", "cut", "words")


def looked_at(tab, place: str, width: int, theme: str) -> dict:
    """What axe finds of a state, and what of it lies outside of the window, over something else, or is cut off."""
    tab.size(width)
    tab.theme(theme)
    said = tab.ask(AUDIT.replace("PLACE", json.dumps(place)))
    assert (
        said["dark"] == (theme == "dark") and said["width"] == width and said["passes"] > 15 and said["boxes"] > 10 and said["rooms"] == 6
    )
    return said


@pytest.mark.parametrize("state", STATES)
def test_every_state_is_for_everybody(tab, state):
    for width in (DESK, PHONE):
        for theme in ("light", "dark"):
            said = looked_at(tab, STATES[state], width, theme)
            assert {kind: said[kind] for kind in WRONG if said[kind]} == {} and said["sentence"], (width, theme)


def test_a_refusal_is_for_everybody(tab):
    for place in REFUSED.values():
        said = looked_at(tab, place, PHONE, "light")
        assert {kind: said[kind] for kind in WRONG if said[kind]} == {} and not said["sentence"], place


FAULTS = {
    "findings": "footer .small { color: #c8c8c8; }",
    "wide": "#sentence { width: 120vw; }",
    "outside": "#sentence { width: 120vw; }",
    "over": "label { margin-right: -4rem; }",
    "cut": "button { width: 3rem; white-space: nowrap; overflow: hidden; }",
    "words": "svg text { font-size: 30px; }",
}  # a finding, and the style that makes it


def test_what_is_wrong_would_be_found(tab):
    for kind, style in FAULTS.items():
        made = f"const made = document.createElement('style'); made.id = 'fault-style'; made.textContent = {json.dumps(style)};"
        tab.ask(made + "document.head.append(made);")
        assert looked_at(tab, "number", PHONE, "light")[kind], kind
        tab.ask("document.querySelector('#fault-style').remove();")
    tab.ask("document.querySelector('footer').append(document.createElement('input'));")
    assert "label" in [name for name, _ in looked_at(tab, "number", DESK, "light")["findings"]]
    tab.ask("document.querySelector('footer > input').remove();")


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


@pytest.mark.parametrize("room", ["number", "block", "dot", "layout", "dequantize"])
def test_a_saved_figure_stands_alone(page, tmp_path, room):
    kind, text = answers(page, SAVE, tmp_path, room)
    figure = ET.fromstring(text)
    assert kind == "image/svg+xml" and figure.tag == "{http://www.w3.org/2000/svg}svg"
    assert "var(" not in text and len(list(figure.iter())) > 10 and "font-family" in text


def test_a_room_without_a_figure_says_so(page, tmp_path):
    assert answers(page, SAVE, tmp_path, "tensor").startswith("no figure here")
