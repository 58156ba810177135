"""The number follows the pointer along its line, a value of Block along its bar, to the source's value nearest to that place."""

import json
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import pytest
from support import devtools
from support.explorer import answers, browser, link, planted

from emu.base.errors import SpecError
from emu.engines.c_ref.descriptor_file import descriptor_text
from emu.engines.exact.convert import convert_value
from emu.engines.exact.decode import decode_code
from emu.engines.exact.value import finite
from emu.spec import get, names
from emu.spec.derive import policy_entry

TARGETS = ("e2m1", "e4m3", "e5m2", "int4")


def covers(policy: str, to: str) -> bool:
    try:
        return bool(policy_entry(get("policy", policy), get("format", to)))
    except SpecError:
        return False


PLACES = [
    {"from": source, "code": code, "to": to}
    for source, codes in (("fp32", ("0x40200000", "0xBF000000")), ("bf16", ("0x4020", "0x0000")), ("fp16", ("0x7BFF", "0x8001")))
    for code in codes
    for to in TARGETS
]
POLICY = {to: next(name for name in names("policy") if covers(name, to)) for to in TARGETS}
PARTS = (0, 1, 9999, 32768, 50001, 65535, 65536)


def wrong(page: str, folder: Path) -> Iterator[tuple]:
    """Places of lines whose code is not that of the source's value nearest to them."""
    links = [link("number", **place, policy=POLICY[place["to"]]) for place in PLACES]
    script = f"return {links}.map(item => [explorer.text(item), {list(PARTS)}.map(part => explorer.dragged(item, part))]);"
    for place, (said, codes) in zip(PLACES, answers(page, script, folder), strict=True):
        source, to = get("format", place["from"]), get("format", place["to"])
        low, high = (decode_code(int(said["line"][end][key], 16), to).signed for end, key in ((0, "below"), (-1, "above")))
        for part, code in zip(PARTS, codes, strict=True):
            entry = policy_entry(get("policy", "ieee"), source)
            wanted = convert_value(finite(low + (high - low) * part / 65536), source, get("rounding", "rne"), entry)
            if int(code, 16) != wanted:
                yield place, part, code, hex(wanted)


def test_a_place_of_the_line_is_the_nearest_value(page, tmp_path):
    assert list(wrong(page, tmp_path)) == []


FAULTS = {
    "toward zero": ('round(format, roundingOf("rne"), {sign, exp: number.e', 'round(format, roundingOf("rz"), {sign, exp: number.e'),
    "another unit": ("e: gap.e - DRAG_PARTS}", "e: gap.e - DRAG_PARTS - 1}"),
    "sign lost": ("const sign = number.n < 0n ? 1 : 0, {magnitude, beyond}", "const sign = 0, {magnitude, beyond}"),
}  # fmt: skip


@pytest.mark.cases(3, 0)
@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_of_places_is_noticed(page, tmp_path, fault):
    assert next(wrong(planted(page, *FAULTS[fault]), tmp_path), None)


DRAG = """
const at = selector => document.querySelector(selector), out = {seen: []};
const ticks = () => [...document.querySelectorAll("#line text")].map(item => item.textContent).join(" ");
const send = (kind, share) => { const box = at("#line").getBoundingClientRect();
    const there = {clientX: box.left + share * box.width, clientY: box.top + 10, bubbles: true, cancelable: true};
    at("#line").dispatchEvent(new PointerEvent(kind, there)); };
const mark = () => { const mark = at("#line path:not(#bin)").getBoundingClientRect(), box = at("#line").getBoundingClientRect();
    return (mark.left + mark.width / 2 - box.left) / box.width; };
out.before = [at("[name=code]").value, ticks()];
send("pointermove", 0.9); out.idle = at("[name=code]").value;
at("[name=typed]").value = "abc"; at("[name=typed]").dispatchEvent(new Event("change", {bubbles: true}));
out.refused = at("#fault").textContent; send("pointerdown", 0.2); out.mended = at("#fault").textContent;
for (const share of [0.2, 0.5, 0.95]) { send("pointermove", share); out.seen.push([share, mark(), ticks(), at("[name=code]").value]); }
const plain = () => { const copy = at("#room").cloneNode(true);
    copy.querySelectorAll("#line").forEach(item => item.remove()); return copy.innerHTML; };
send("pointermove", 2); out.beyond = at("[name=typed]").value;
send("pointermove", 0.55); const whole = plain(), kept = at("[name=typed]").value;
const high = document.documentElement.scrollHeight;
send("pointerup", 0.55); out.whole = plain() === whole && at("[name=typed]").value === kept; out.hash = location.hash;
out.high = [high, document.documentElement.scrollHeight];
out.after = ticks(); const last = at("[name=code]").value;
send("pointermove", 0.3); out.done = at("[name=code]").value === last; out.code = last;
out.typed = at("[name=typed]").value; at('[data-bit="30"]').click(); out.clicked = at("[name=code]").value;
return out;
"""


def dragged(page: str, folder: Path) -> list[str]:
    """What is wrong with a drag; empty: nothing."""
    (folder / "page.html").write_text(page, encoding="utf-8")
    with devtools.page(browser()) as tab:
        tab.open(f"{(folder / 'page.html').as_uri()}{link('number', to='e4m3', code='0x40200000')}")
        tab.picture()  # what has been drawn once keeps its height
        said = tab.ask(DRAG)
    if "abc" in (said["beyond"], said["typed"]):
        return ["what was typed stays"]
    code, ticks = said["before"]
    found = [] if said["idle"] == code else ["moved without being held"]
    found += [f"the mark is {mark}, the pointer {share}" for share, mark, _, _ in said["seen"] if abs(mark - share) > 0.003]
    found += ["the line moved"] if any(here != ticks for *_, here, _ in said["seen"]) else []
    found += [] if len({here for *_, here in said["seen"]}) == 3 and f"code={said['code']}" in said["hash"] else ["the codes"]
    found += [] if said["whole"] else ["what is drawn while it is held is not what is drawn anew"]
    found += [] if len(set(said["high"])) == 1 else ["the page grows or shrinks while it is held"]
    found += [] if said["refused"].startswith("abc") and said["mended"] == "" else ["the refusal stays"]
    found += [] if int(said["clicked"], 16) == int(said["code"], 16) ^ 1 << 30 else ["a bit that is clicked afterwards"]
    found += [] if Fraction(said["beyond"]) == Fraction(ticks.split()[-1]) else ["beyond the end"]
    return found + ([] if said["done"] and said["after"] != ticks else ["it was not let go"])


def test_the_number_follows_the_pointer(page, tmp_path):
    assert dragged(page, tmp_path) == []


DRAGS = {
    "the line moves": ("const from = held?.first ?? Math.max", "const from = Math.max"),
    "never let go": ("if (held) { held = null; go({}); }", ""),
    "the address of before": ("if (held) { held = null; go({}); }", "if (held) { held = null; draw(); }"),
    "marks that stay": ("if (before.get(name) !== value) node.setAttribute(name, value);", ";"),
    "words that stay": ("here.node.data = plain(next.open);", ""),
    "what was typed stays": ("if (item.value !== item.defaultValue) item.value = item.defaultValue;", ""),
    "another height": ("contain-intrinsic-size: auto 20rem;", "contain-intrinsic-size: 1px;"),
    "deaf afterwards": ("bindOwn(page, state);\n  bindZoom(page);\n  page.querySelectorAll(\".bit\")",
                        "bindOwn(page, state);\n  bindZoom(page);\n  [].slice()"),
}  # fmt: skip


@pytest.mark.cases(3, 0)
@pytest.mark.parametrize("fault", DRAGS)
def test_a_fault_of_dragging_is_noticed(page, tmp_path, fault):
    assert dragged(planted(page, *DRAGS[fault]), tmp_path)


BARS = """
const at = selector => document.querySelector(selector), out = {seen: []}, values = () => at("[name=x]").value.split(" ");
const send = (kind, share) => { const box = at("#bars").getBoundingClientRect();
    const there = {clientY: box.top + share * box.height, bubbles: true, cancelable: true};
    at('[data-bar="3"] .bar').dispatchEvent(new PointerEvent(kind, there)); };
const ends = i => { const bar = at(`[data-bar="${i}"] .bar`).getBoundingClientRect(), box = at("#bars").getBoundingClientRect();
    return [(bar.top - box.top) / box.height, (bar.bottom - box.top) / box.height]; };
out.before = [values(), ends(0)];
send("pointermove", 0.2); out.idle = values();
send("pointerdown", 0.25);
for (const share of [0.25, 0.4, 0.1, 0.8]) {
    send("pointermove", share);
    out.seen.push([share, ends(3), ends(0), values(), Boolean(at("#flips"))]); }
const plain = () => { const copy = at("#room").cloneNode(true);
    copy.querySelectorAll("#bars, #flips").forEach(item => item.remove()); return copy.innerHTML; };
send("pointermove", -3); out.beyond = values()[3]; const whole = plain(), kept = values().join();
send("pointerup", 0); out.let = ends(0); out.whole = plain() === whole && values().join() === kept; out.hash = location.hash;
const last = values().join();
send("pointermove", 0.5); out.done = values().join() === last; out.flips = Boolean(at("#flips")); out.fault = at("#fault").textContent;
return out;
"""


def lifted(page: str, folder: Path) -> list[str]:
    """What is wrong with a drag of the bar of element 3; empty: nothing."""
    (folder / "page.html").write_text(page, encoding="utf-8")
    given = [0x40E0, 0xBF00, 0x3F80, 0x4000] + [0] * 28
    with devtools.page(browser()) as tab:
        place = link("block", **{"from": "bf16"}, x=" ".join(f"0x{code:04X}" for code in given), flip=2)
        tab.open(f"{(folder / 'page.html').as_uri()}{place}")
        said = tab.ask(BARS)
    before, first = said["before"]
    found = [] if said["idle"] == before else ["moved without being held"]
    for share, (top, bottom), others, codes, flips in said["seen"]:
        found += (
            [] if min(abs(top - share), abs(bottom - share)) < 0.02 else [f"the bar ends at {top}, {bottom}, the pointer is at {share}"]
        )
        found += [] if max(abs(here - there) for here, there in zip(others, first, strict=True)) < 0.01 else ["the other bars moved"]
        value = decode_code(int(codes[3], 16), get("format", "bf16")).signed
        height = Fraction(35, 4) * Fraction((150 - 160 * share) / 140 * 2 - 1)  # of 7 and a quarter more, both ways
        found += [] if abs(value - height) < Fraction(1, 8) and codes[:3] + codes[4:] == before[:3] + before[4:] else [f"the value {value}"]
        found += ["a search at each move"] if flips else []
    found += [] if said["whole"] and said["beyond"] in said["hash"] else ["the address, or what is drawn while it is held"]
    found += [] if said["beyond"] == "0x410C" and said["done"] and said["flips"] else ["the end"]
    return found + ([] if said["let"] != first and said["fault"] == "" else ["it was not let go"])


def test_a_value_follows_its_bar(page, tmp_path):
    assert lifted(page, tmp_path) == []


LIFTS = {
    "the ends move": ("held?.ends || endsOf(codes, from)", "endsOf(codes, from)"),
    "another element": ("hex(i === element ? code : own_, width)", "hex(i === element + 1 ? code : own_, width)"),
    "what is gone stays": ("for (; i < at; i++) was[i].node.remove();", "i = at;"),
    "upside down": ("within((150 - (event.clientY - top) / height * 160)", "within(((event.clientY - top) / height * 160 - 10)"),
}  # fmt: skip


@pytest.mark.cases(3, 0)
@pytest.mark.parametrize("fault", LIFTS)
def test_a_fault_of_bars_is_noticed(page, tmp_path, fault):
    assert lifted(planted(page, *LIFTS[fault]), tmp_path)


AMENDED = {
    "number": [
        {}, {"to": "e4m3", "round": "sr_add8", "r": 7}, {"from": "fp16", "code": "0x0000", "to": "int4", "formats": "all"},
        {"from": "bf16", "code": "0x8001", "to": "e5m2"}, {"own": descriptor_text([get("format", "e2m1"), get("policy", "nvidia")])},
    ],
    "block": [
        {"flip": 2}, {"a": "nvfp4_modelopt", "b": "mxfp4_torchao_floor", "amax": "7"}, {"x": " ".join(["1 nan", "0.5 -3"] * 16)},
        {"rotate": "rht16_ufp4"}, {"x": "0 " * 32}, {"own": descriptor_text([get("recipe", "mxfp4_torchao_floor")])},
    ],
}  # fmt: skip
ANEW = """return PLACES.flatMap(([place, figure]) => {
    history.replaceState(null, "", place); dispatchEvent(new HashChangeEvent("hashchange"));
    const at = selector => document.querySelector(selector), fields = () => [...at("#room").querySelectorAll("input, textarea, select")]
        .map(item => item.value).join("\\n");
    const plain = () => { const copy = at("#room").cloneNode(true);
        copy.querySelectorAll("#line, #bars, #flips").forEach(item => item.remove()); return copy.innerHTML + fields(); };
    const send = (kind, share) => { const box = at(figure).getBoundingClientRect(), target = at(figure).querySelector("rect") || at(figure);
        target.dispatchEvent(new PointerEvent(kind, {bubbles: true, cancelable: true,
            clientX: box.left + share * box.width, clientY: box.top + share * box.height})); };
    const codes = new Set();
    let shown = null;
    const stays = () => at("#room form") === shown;
    return [0.1, 0.35, 0.5, 0.77, 0.93].map((share, i) => {
        shown = at("#room form");
        send("pointerdown", share); send("pointermove", 1 - share); send("pointermove", share);
        const held = stays() ? plain() : "other nodes";
        send("pointerup", share);
        codes.add(at("[name=x], [name=code]").value);
        return held === plain() && (i < 4 || codes.size > 3) && at("#fault").textContent === "" ? "" : `${place} ${share} ${codes.size}`;
    }).filter(Boolean);
});"""


def amended(page: str, folder: Path) -> list[str]:
    """Places where what is drawn while something is held is not what is drawn anew; empty: none."""
    figures = {"number": "#line", "block": "#bars"}
    places = [[link(room, **state), figures[room]] for room, states in AMENDED.items() for state in states]
    found = answers(page, ANEW.replace("PLACES", json.dumps(places)), folder)
    return found if isinstance(found, list) else [str(found)]


def test_what_is_amended_is_what_is_drawn_anew(page, tmp_path):
    assert amended(page, tmp_path) == []


AMENDS = {
    "attributes that stay": ("for (const name of before.keys()) if (!after.has(name)) node.removeAttribute(name);", ""),
    "what is new left out": ("put(next, node, was[i]?.node || null)", "undefined"),
    "what is new at the end": ("put(next, node, was[i]?.node || null)", "put(next, node, null)"),
    "rebuilt at each move": ("drawn = isBound(last, page) ? last : null;", ""),
}  # fmt: skip


@pytest.mark.cases(3, 0)
@pytest.mark.parametrize("fault", AMENDS)
def test_a_fault_of_amending_is_noticed(page, tmp_path, fault):
    assert amended(planted(page, *AMENDS[fault]), tmp_path)
