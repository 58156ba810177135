"""Rows that are copied from Number, Dot, Layout and Dequantize are rows of their contracts; the commands that make them again do."""

import json
from pathlib import Path

import pytest
from support.explorer import answers, link, planted, ran, texts

from emu.contracts import parse
from emu.contracts.columns import layout_of
from emu.contracts.dot.contract import DotContract
from emu.contracts.rows import Input, make_row, unpack
from emu.explain.link import of_values
from emu.vectors.files.writers import row_lines
from emu.vectors.suites.plan import find

VECTORS = Path(__file__).parents[2] / "vectors"
OPERATIONS = ("convert", "dequantize", "dot", "layout")
SCRIPT = """return LINKS.map(link => { history.replaceState(null, "", "#" + link); dispatchEvent(new HashChangeEvent("hashchange"));
    document.querySelector("#copy-row").click();
    const said = [explorer.copied(), document.querySelector("#fault").textContent, document.querySelector("#shell").textContent];
    document.querySelector("#copy-link").click(); return said; });"""


MORE = tuple(parse(*name) for name in (("convert/e2m1/sr_add8/nvidia", "bf16"), ("dequantize/nvfp4_torchao/torchao", "bf16")))


def copied(page: str, folder: Path, links: list[str]) -> list[list[str]]:
    """Of each link the rows that are copied, what is refused, and the command."""
    said = answers(page, SCRIPT.replace("LINKS", json.dumps([place.removeprefix("#") for place in links])), folder, "number")
    assert isinstance(said, list), said
    return said


def rows_over(operations: tuple[str, ...], suites: int, most: int) -> list[tuple]:
    """Rows of about so many suites of each operation, spread over them, that have a link."""
    out = [(contract, case.values, str(of_values(contract, case.values).link)) for contract in MORE for case in contract.draw(0, 3)]
    for name in operations:
        stems = sorted((VECTORS / name).glob("*__smoke.tv")) or sorted((VECTORS / name).glob("*.tv"))
        for stem in stems[:: -(-len(stems) // suites)]:
            contract = find(stem.stem).operation
            cases = next(iter(contract.suites())).cases(0, 1 << 20)
            for case in cases[:: -(-len(cases) // most)]:
                place = of_values(contract, case.values).link
                out += [] if place is None else [(contract, case.values, place)]
    return out


def expected(contract, values: tuple[int, ...]) -> str:
    """The row by the reference model; of a datapath of levels without the stages, which a file asks for."""
    layout, answer = contract.layout, contract.exact(values)
    if contract.name.op == "dot" and not isinstance(contract, DotContract):
        kept = {column.name for column in layout.results if column.role == "out"}
        answer = tuple(lanes for column, lanes in zip(layout.results, answer, strict=True) if column.name in kept)
        layout = layout_of([column for column in layout.columns if column.role in ("in", "r") or column.name in kept])
    return row_lines(layout, [make_row(layout, Input("", (), values), answer)])[0]


def wrong(page: str, folder: Path, rows: list[tuple]) -> list[tuple]:
    """Rows that the page copies otherwise than the reference model makes them."""
    out = []
    for (contract, values, place), (text, fault, _) in zip(rows, copied(page, folder, [row[2] for row in rows]), strict=True):
        if (text, fault) != (f"{expected(contract, values)}\n", ""):
            out.append((str(contract.name), place, fault, text, expected(contract, values)))
    return out


def test_copied_rows_are_those_of_the_reference_model(page, tmp_path):
    rows = rows_over(OPERATIONS, 12, 4)
    assert wrong(page, tmp_path, rows) == []
    assert {contract.name.op for contract, *_ in rows} == set(OPERATIONS) and len(rows) > 100


FAULTS = {
    "lanes turned round": ("word(wordOf(lanes, column))", "word(wordOf([...lanes].reverse(), column))"),
    "another source": ("source ? word(source) : 0", "0"),
    "another result": ("result ? word(result) : 0", "0"),
    "random integers of 0": ("r: [drawnOf(state)?.integer ?? 0n]", "r: [0n]"),
    "C left out": ("c: isRegister || !i ? [begin] : before.d", "c: [0n]"),
    "row and index turned round": ("row: [BigInt(row)], idx: [BigInt(index)]", "row: [BigInt(index)], idx: [BigInt(row)]"),
    "the first block": ("const [down, across] = lines.find(", "const [across, down] = lines.find("),
    "the tensor's level under its name": ('[tall || wide ? name : "ts", sides[i]]', "[name, sides[i]]"),
}  # fmt: skip


@pytest.mark.cases(2, 2)
@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_of_the_rows_is_noticed(page, tmp_path, fault):
    assert wrong(planted(page, *FAULTS[fault]), tmp_path, rows_over(OPERATIONS, 6, 3))


CHAINS = {
    "dot": {"m1": "hopper_fp8/e4m3xe4m3", "a": "7E380838" + "00" * 59 + "39", "b": "38380138" + "00" * 59 + "4A", "c": "3F800001"},
    "descending": {"m1": "hopper_fp8/e4m3xe4m3", "a": "7E380838" + "00" * 59 + "39", "b": "38380138" * 16, "direction": "descending"},
    "accumulate": {"m1": "int64/e1m2xe1m2/16", "a": "1234567F" * 16, "b": "76543A21" * 16, "c": "3F800001"},
}


def chains_are_wrong(page: str, folder: Path) -> list[tuple]:
    """Chains whose rows are not those of the reference model, do not go on where the last one ended, or end elsewhere than the page."""
    links = [link("dot", m2="none", m3="none", **state) for state in CHAINS.values()]
    out, told = [], (copied(page, folder, links), texts(page, links, folder))
    for (name, state), (text, fault, shell), said in zip(CHAINS.items(), *told, strict=True):
        contract = parse(f"{'accumulate' if name == 'accumulate' else 'dot'}/{state['m1']}")
        columns, rows = contract.layout.columns, [[int(word, 16) for word in line.split()[1:]] for line in text.splitlines()]
        named = [dict(zip((column.name for column in columns), row, strict=True)) for row in rows]
        given = [tuple(row[column.name] for column in contract.layout.inputs) for row in named]
        if text.splitlines() != [expected(contract, values) for values in given] or fault:
            out.append((name, "rows", fault))
        into, from_ = ("acc_in", "acc") if name == "accumulate" else ("c", "d")
        begin = int(state.get("c", "0"), 16) if into == "c" else 0
        if [row[into] for row in named] != [begin, *(row[from_] for row in named[:-1])] or len(named) < 2:
            out.append((name, "chain"))
        if named[-1]["d"] != int(said["runs"][0]["d"], 16):
            out.append((name, "end", said["runs"][0]["d"]))
        if name == "descending" and ran(shell, folder)[:-1] != text.splitlines():
            out.append((name, shell))
        one = contract.layout.inputs[[column.name for column in contract.layout.inputs].index("a")]
        order = [lane for row in named for lane in unpack(row["a"], one)]
        if name == "descending" and order[0] != 0x7E != order[32]:
            out.append((name, "order"))
    return out


def test_a_longer_k_is_a_chain_of_rows(page, tmp_path):
    assert chains_are_wrong(page, tmp_path) == []


CHAIN_FAULTS = {
    "every row begins anew": ("c: isRegister || !i ? [begin] : before.d", "c: [begin]"),
    "an empty register": ("acc_in: i ? before.acc : [BigInt.asUintN(machine.bits, row.held)]", "acc_in: [0n]"),
    "never read out": ("last: [BigInt(i === chain.length - 1)]", "last: [0n]"),
    "the first instruction again": ("taken(row, machine, count > 1 ? [number] : chain)", "taken(row, machine, count > 1 ? [0] : chain)"),
    "one ascending chain": ('isOwnMachine(id) || state.direction !== "ascending" || state', "isOwnMachine(id) || state"),
}  # fmt: skip


@pytest.mark.cases(1, 1)
@pytest.mark.parametrize("fault", CHAIN_FAULTS)
def test_a_fault_of_chains_is_noticed(page, tmp_path, fault):
    assert chains_are_wrong(planted(page, *CHAIN_FAULTS[fault]), tmp_path)


REFUSED = {
    "layout": "Copy .tv row: rows of layouts are of tensors of 132 rows and 6 blocks in a row: choose rows 132 and codes 6",
    "tensor": "Copy .tv row: choose a file and a tensor of it first",
}


def test_what_has_no_row_is_refused_in_a_line(page, tmp_path):
    said = copied(page, tmp_path, [*REFUSED, "number"])
    assert [item[1] for item in said] == [*REFUSED.values(), ""]  # the line goes with the next copy


FILE_FIRST = "choose a file and a tensor of it first."
ABSENT = {
    "number": "",
    "block": "",
    "dot": "",
    "dequantize": "",
    "layout": f"{REFUSED['layout']}.",
    "layout?rows=132&codes=6": "",
    "tensor": f"Copy Python: {FILE_FIRST} Copy C: {FILE_FIRST} Copy .tv row: {FILE_FIRST}",
    link("dot", m1="bf16_register", m2="none", m3="none", a="3f80" * 8, b="3f81" * 8).removeprefix("#"):
        "Copy .tv row: a row of accumulate/bf16_register has 16 codes in a, and here are 8.",
    link("block", a="nvfp4_te_row_scaled", b="nvfp4_modelopt", x="1 2 " * 16).removeprefix("#"):
        "Copy .tv row: nvfp4_te_row_scaled looks at more than a block: give one block.",
    link("block", a="nvfp4_te_ref", b="nvfp4_modelopt", x="1 nan " * 16).removeprefix("#"): "",
}  # places of the page, and what is said of the buttons that have nothing to copy there  # fmt: skip


def test_a_button_that_has_nothing_to_copy_is_marked_and_says_why(page, tmp_path):
    script = f"""return {json.dumps(list(ABSENT))}.map(place => {{
        history.replaceState(null, "", `#${{place}}`); dispatchEvent(new HashChangeEvent("hashchange"));
        const at = selector => document.querySelector(selector);
        const marked = [...document.querySelectorAll("footer button[aria-disabled=true]")];
        return [at("#fault").textContent, at("#copy-why").textContent, marked.map(item => item.textContent)]; }});"""
    for (place, why), (fault, said, marked) in zip(ABSENT.items(), answers(page, script, tmp_path, "number"), strict=True):
        assert (fault, said) == ("", why), place
        assert marked == [name for name in ("Copy command", "Copy Python", "Copy C", "Copy .tv row") if f"{name}: " in why], place


@pytest.mark.parametrize("place", ["number?from=bf16&code=0x4049&to=e2m1&round=sr_add8&r=77", "dequantize?level1=48&to=bf16"])
def test_the_row_is_what_the_command_prints(page, tmp_path, place):
    """Of Dequantize the copied command; of Number that of a format of one's own."""
    begin = 'document.querySelector("#edit").click(); ' if place.startswith("number") else ""
    script = begin + "return ['row', 'shell'].map(kind => (document.querySelector(`#copy-${kind}`).click(), explorer.copied()));"
    row, shell = answers(page, script, tmp_path, place)
    assert f"{ran(shell, tmp_path)[0]}\n" == row and len(row) > 10
