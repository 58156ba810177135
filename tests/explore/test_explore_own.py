"""Number with a descriptor: objects that no file has are computed as the reference model does, or refused by line."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from support import devtools
from support.descriptor_samples import Loaded, drawn_format, drawn_policy, drawn_rounding, sealed
from support.explorer import answers, browser, compiled_and_run, digits, link, planted, texts

from emu.base.errors import OpenError, OperandError
from emu.contracts.text import meaning
from emu.engines.c_ref.descriptor_file import descriptor_text
from emu.engines.exact import convert
from emu.engines.exact.decode import decode_code
from emu.spec import get


def bare(text: str) -> str:
    """A descriptor without its last line."""
    return text[: text.rindex("\nend ") + 1]


def wrong(page: str, folder: Path, seeds: range) -> tuple[list, set]:
    """Rows of drawn objects on which the page and the reference model differ; the kinds of answers that were compared."""
    rows, links = [], []
    for seed in seeds:
        fmt = drawn_format(seed)
        rounding = (
            get("rounding", "rne") if fmt.facts.class_ == "codebook" else drawn_rounding(seed)
        )  # a codebook says itself who is nearer
        policy = drawn_policy(seed, fmt)
        own = bare(descriptor_text([fmt, rounding, policy]))
        draw = np.random.Generator(np.random.Philox(seed))
        for code in (
            0x7FC0,
            0xFF80,
            0x8000,
            *(int(draw.integers(0, 2)) << 15 | int(draw.integers(100, 150)) << 7 | int(draw.integers(0, 128)) for _ in range(9)),
        ):
            r = int(draw.integers(0, 1 << 32))
            rows.append((fmt, rounding, policy, code, r))
            asked = {"from": "bf16", "code": hex(code), "to": fmt.id, "round": rounding.id, "policy": policy.id, "r": r}
            links.append(link("number", **asked, own=own, formats=fmt.id))
    out, seen = [], set()
    for (fmt, rounding, policy, code, r), said in zip(rows, texts(page, links, folder), strict=True):
        bits = rounding.random_bits
        told = said.get("result", ""), said.get("value", "")
        try:
            made = convert.convert_code(code, get("format", "bf16"), fmt, rounding, policy, r % (1 << bits) if bits else None)
            value = decode_code(made, fmt)
            wanted = made, "-0" if value.is_zero and value.sign else digits(value.signed) if value.kind == "finite" else meaning(made, fmt)
            told = int(told[0], 16) if told[0].startswith("0x") else told[0], told[1]
            if value.kind != "finite":
                wanted, told = wanted[:1], told[:1]
        except OpenError:
            wanted = "open", ""
        except OperandError:  # a policy that refuses
            wanted = "refused", ""
        seen.add(wanted[0] if isinstance(wanted[0], str) else fmt.facts.class_)
        if told != wanted:
            out.append((fmt.id, hex(code), said.get("refused", told), wanted))
    return out, seen


def test_drawn_objects_are_computed_as_the_reference_model_does(page, tmp_path):
    out, seen = wrong(page, tmp_path, range(40))
    assert out == [] and {"float", "integer", "exponent", "codebook", "open", "refused"} <= seen


FAULTS = {
    "the rounding of the page": ("C.ex_rounding(libraryOf(own.roundings.includes(id)),", "C.ex_rounding(libraryOf(false),"),
    "the policy of the page": ("own.policies.some(([name, of]) => name === id && of === to)", "false"),
    "the first descriptor for ever": ("if (text === own.text) return;", "if (own.text) return;"),
    "what was looked up of the last one": ("[found, grids, answers].forEach(kept", "[grids, answers].forEach(kept"),
    "the grid of the last one": ("[found, grids, answers].forEach(kept", "[found, answers].forEach(kept"),
    "the edges of the last one": ("[found, grids, answers].forEach(kept", "[found, grids].forEach(kept"),
}  # fmt: skip


@pytest.mark.cases(3, 0)
@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_of_descriptors_is_noticed(page, tmp_path, fault):
    faulty = planted(page, *FAULTS[fault])
    assert neighbours(faulty, tmp_path) != NEIGHBOURS if "last one" in fault else wrong(faulty, tmp_path, range(12))[0]


def start(*changes: tuple[str, str]) -> str:
    """The facts of E2M1 and its policy under the name mine, with lines changed, without the last line."""
    text = bare(descriptor_text([get("format", "e2m1"), get("policy", "nvidia")]))
    for before, after in (("format e2m1", "format mine"), ("nvidia e2m1", "nvidia mine"), *changes):
        assert text.count(before) == 1
        text = text.replace(before, after)
    return text


NEIGHBOURS = ["2", "3", "(2.5, 3.5)", "2.5", "3", "(2.25, 2.75)", "2", "3", "(2.5, …: where the format ends the policy decides"]


def neighbours(page: str, folder: Path) -> list[str]:
    """The values below and above 2.6 and its bin in formats of one name, one after the other; the second stands behind another format."""
    facts = start()[start().index("class") : start().index("roundings")]
    changes = ("formats 1\nformat mine\n", f"formats 2\nformat before\n{facts}format mine\n")
    second = start(("frac_bits 1", "frac_bits 2")).replace(changes[0], changes[1])
    asked = [link("number", own=own, to="mine", code="0x40266666") for own in (start(), second, start(("bias 1", "bias 2")))]
    return [said.get(key, "") for said in texts(page, asked, folder) for key in ("below", "above", "bin")]


def test_neighbours_follow_the_facts(page, tmp_path):
    assert neighbours(page, tmp_path) == NEIGHBOURS


WRONG = {
    "exp_bits 2": "exp_bits 0",
    "frac_bits 1": "frac_bits",
    "nan none": "nan list",
    "nan 0x7 0x7": "nan 0x17 0x7",
    "policy nvidia mine": "policy nvidia other",
    "inf none": "infinity none",
    "formats 1": "formats 2",
    "emu descriptor 1": "emu descriptor 9",
    "datapaths 0\n": "",
}  # a line of the descriptor, and what it becomes


def test_wrong_lines_are_refused_as_c_refuses_them(page, tmp_path):
    given = [start(pair) for pair in WRONG.items()]
    for text, said in zip(given, texts(page, [link("number", own=text, to="mine") for text in given], tmp_path), strict=True):
        fault = Loaded(sealed(f"{text}end 0\n")).line
        assert said == {"refused": f"descriptor line {fault}"} and not fault.startswith("0:"), said


USE = """
const at = selector => document.querySelector(selector), out = {}, text = selector => at(selector) ? at(selector).textContent : null;
const change = (selector, value) => { at(selector).value = value; at(selector).dispatchEvent(new Event("change", {bubbles: true})); };
const options = name => [...at(`[name=${name}]`).options].map(item => item.value), own = () => at("[name=own]");
const until = async what => { for (let i = 0; i < 600 && !what(); i++) await new Promise(done => setTimeout(done, 20)); };
const drop = (name, data) => { const held = new DataTransfer(); held.items.add(new File([data], name));
    dispatchEvent(new DragEvent("drop", {dataTransfer: held, cancelable: true})); };
const refused = async (name, data) => { drop(name, data); await until(() => text("#fault").startsWith(name)); return text("#fault"); };
out.none = [own(), at("#copy-own")];
at("#edit").click();
out.begun = [own().value, text("#sentence"), at("[name=to]").value, document.activeElement.name, at("#edit")];
change("[name=own]", own().value.replace("bias 1", "bias 2")); out.edited = text("#sentence"); out.hash = location.hash;
at("#copy-own").click(); out.copied = explorer.copied();
for (const kind of ["python", "c"]) { at(`#copy-${kind}`).click(); out[kind] = [explorer.copied(), text("#fault")]; }
out.shell = text("#shell");
out.rows = document.querySelectorAll("tbody tr").length;
const kept = own().value;
change("[name=own]", kept.replace("exp_bits 2", "exp_bits 99"));
out.wrong = [text("#fault"), text("#sentence"), own().value.includes("exp_bits 99")];
change("[name=own]", kept); out.mended = [text("#fault"), text("#sentence")];
location.hash = "block"; await until(() => at("[name=x]")); out.block = [text("#fault"), Boolean(text("#sentence"))];
location.hash = out.hash; await until(own); out.again = [text("#sentence"), text("#digest")];
at("#leave").click(); out.left = [own(), at("[name=to]").value, options("to").includes("mine"), text("#fault")];
drop("mine.txt", DROPPED); await until(own);
out.dropped = [text("#fault"), at("[name=to]").value, at("[name=round]").value, own().value, options("round")[0]];
out.bad = await refused("bad.txt", DROPPED.replace("class", "Class")); out.stays = own().value === out.dropped[3];
out.empty = await refused("empty.txt", ""); out.big = await refused("big.txt", "#".repeat(70000));
return out;
"""


def test_facts_are_edited_and_files_dropped(page, tmp_path):
    whole = descriptor_text([drawn_format(2), drawn_rounding(2), drawn_policy(2, drawn_format(2))])
    (tmp_path / "page.html").write_text(page, encoding="utf-8")
    with devtools.page(browser()) as tab:
        tab.open(f"{(tmp_path / 'page.html').as_uri()}#number")
        said = tab.ask(USE.replace("DROPPED", json.dumps(whole)))
        (tmp_path / "chosen.txt").write_text(start(), encoding="ascii")
        tab.choose_file("[name=own-file]", tmp_path / "chosen.txt")
        wait = "for (let i = 0; i < 600 && document.querySelector('[name=to]').value !== 'mine'; i++) "
        chosen = wait + "await new Promise(done => setTimeout(done, 20));"
        assert tab.ask(chosen + "return document.querySelector('[name=own]').value;") == start()
    assert said["none"] == [None, None]
    assert said["begun"][0] == start() and said["begun"][2:] == ["mine", "own", None]
    assert "convert/mine/rne/nvidia gives 0x4, which is 2: an error of -0.5." in said["begun"][1]
    edited = "fp32 0x40200000 is 2.5, between 2 and 3, at the middle; convert/mine/rne/nvidia gives 0x6, which is 2: an error of -0.5."
    assert said["edited"] == edited and said["again"] == [edited, ""] and said["mended"] == ["", edited]
    assert Loaded(said["copied"]).written() == said["copied"] == sealed(start(("bias 1", "bias 2")) + "end 0\n")
    assert compiled_and_run(said["c"][0], tmp_path / "c") == "error 0, open 0, code 0x6\n"
    assert subprocess.run([sys.executable, "-c", said["python"][0]], capture_output=True, text=True, check=True).stdout == "0x6\n"
    assert said["python"][1] == said["c"][1] == ""
    assert said["shell"] == "printf 'a 40200000\\n' | emu_ref fill convert/mine/rne/nvidia --source fp32 --descriptor mine.txt"
    assert said["rows"] > 20
    assert said["wrong"] == ["descriptor line 6: out of range '99': write an integer without leading zeros from 1 to 15", None, True]
    assert said["block"] == ["", True] and said["left"] == [None, "e2m1", False, ""]
    assert said["dropped"] == ["", "drawn_2", "rne", bare(whole), "drawn_2"]
    assert said["bad"].startswith("bad.txt: descriptor line 4: ") and said["stays"]
    assert said["empty"] == "empty.txt is empty: write one with emu export descriptor"
    assert said["big"].startswith("big.txt: 70000 bytes: a descriptor has at most 65536 here")


ELSEWHERE = """const until = async what => { for (let i = 0; i < 900 && !what(); i++) await new Promise(done => setTimeout(done, 20)); };
return (async () => { const out = []; for (const [room, name] of DROPS) {
    history.replaceState(null, "", `#${room}`); dispatchEvent(new HashChangeEvent("hashchange"));
    const held = new DataTransfer(), over = new DragEvent("dragover", {cancelable: true});
    const fault = () => document.querySelector("#fault").textContent;
    held.items.add(new File(["emu descriptor 1"], name));
    const drop = new DragEvent("drop", {dataTransfer: held, cancelable: true});
    dispatchEvent(over); dispatchEvent(drop);
    await until(() => fault().startsWith(`${name}: `));
    out.push([fault(), over.defaultPrevented && drop.defaultPrevented]);
} return out; })();"""
OUT_OF_ORDER = (
    "mine.txt: descriptor line 2: a line of 'end' where 'formats' with its values must stand: write the lines in the order of "
    "docs/descriptors.md"
)
DROPS = {
    ("tensor", "mine.txt"): OUT_OF_ORDER,
    ("layout", "w.npy"): "w.npy: Layout does not take it: drop a tensor file on Tensor",
    ("block", "w.GGUF"): "w.GGUF: Block does not take it: drop a tensor file on Tensor",
}  # fmt: skip


def told_elsewhere(page: str, folder: Path) -> list:
    """What a room says of a file that belongs to another room, and whether the browser keeps off."""
    return answers(page, ELSEWHERE.replace("DROPS", json.dumps(list(DROPS))), folder)


def test_a_file_dropped_on_another_room_is_told_its_own(page, tmp_path):
    assert told_elsewhere(page, tmp_path) == [[said, True] for said in DROPS.values()]


FAULTS_OF_DROPS = [
    ("if (isTensor) refuse", "if (false) refuse"), ('text === "emu descriptor" ?', "false ?"),
    ('addEventListener("dragover", event => event.preventDefault());', ""),
]  # fmt: skip


@pytest.mark.cases(3, 0)
@pytest.mark.parametrize("fault", FAULTS_OF_DROPS)
def test_a_fault_of_drops_is_noticed(page, tmp_path, fault):
    assert told_elsewhere(planted(page, *fault), tmp_path) != [[said, True] for said in DROPS.values()]
