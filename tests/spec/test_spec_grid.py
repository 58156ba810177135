"""The codes, special codes and values of a user's format must be one monotone grid, in bounds; else one line with file and place."""

from __future__ import annotations

from pathlib import Path

import pytest

from emu.base.errors import SpecError
from emu.spec import load_spec
from emu.spec.registry import restored

HEAD = 'kind: "format"\nid: "mine"\ntitle: "t"\nstatus: "proposed"\nfacts: {}\nopen: []\nsources: []\n'
SMALL = 'class: "float", signed: "yes", exp_bits: 3, frac_bits: 1, bias: 3, subnormals: "yes", neg_zero: "yes"'
POWER = 'class: "exponent", signed: "no"'
BOOK = 'class: "codebook", bits: 2, tie: "lower"'

REFUSED = {
    "Inf amid numbers": (
        SMALL.replace("frac_bits: 1", "frac_bits: 2") + ', inf: "ieee", nan: ["0x1F", "0x3F"]',
        "facts.nan: inf: ieee makes 0x1c Inf, so the codes above 0x1c, and no other, must be NaN: say nan: ieee or inf: none",
    ),
    "NaN amid numbers": (f'{SMALL}, inf: "none", nan: ["0x05", "0x15"]', "facts.nan: 0x5 is NaN below a code that is none"),
    "Inf that leaves a code without meaning": (
        f'{SMALL}, inf: "ieee", nan: ["0x0E", "0x0F", "0x1E", "0x1F"]',
        "facts.nan: inf: ieee makes 0xe Inf",
    ),
    "NaN of one sign": (f'{SMALL}, inf: "none", nan: ["0x0F"]', "facts.nan: 0xf is NaN with one sign and a number with the other"),
    "a NaN twice": (f'{SMALL}, inf: "none", nan: ["0x0F", "0x1F", "0x0F"]', "facts.nan: a code is listed twice"),
    "nan ieee without a fraction": (
        SMALL.replace("frac_bits: 1", "frac_bits: 0") + ', inf: "ieee", nan: "ieee"',
        "facts.nan: nan: ieee needs a",
    ),
    "a power whose smallest code is NaN": (f'{POWER}, bits: 4, bias: 7, nan: ["0x0"]', "facts.nan: 0x0 is NaN below a code that is none"),
    "huge bias": (SMALL.replace("bias: 3", "bias: 1100") + ', inf: "none", nan: "none"', "facts.bias: numbers from 2^-1100"),
    "huge negative bias": (SMALL.replace("bias: 3", "bias: -1100") + ', inf: "none", nan: "none"', "facts.bias: numbers from 2^1100"),
    "bias beyond all": (
        SMALL.replace("bias: 3", "bias: 1000000000000") + ', inf: "none", nan: "none"',
        "facts.bias: 1000000000000 must be less",
    ),
    "huge unit": ('class: "integer", signed: "no", bits: 4, unit_exp: 1021', "facts.unit_exp: numbers from 2^1021"),
    "powers of 16 bits": (f'{POWER}, bits: 16, bias: 0, nan: "none"', "facts.bias: numbers from 2^0"),
    "huge power": (f'{BOOK}, values: ["0", "1", "2", "2^1024"]', "facts.values: code 3: numbers must be at least"),
    "power of many digits": (f'{BOOK}, values: ["0", "1", "2", "2^1000000000000"]', "facts.values.3: 2^k takes k from"),
    "integer of many digits": (f'{BOOK}, values: ["0", "1", "2", "{"7" * 5000}"]', "facts.values.3: a number has at most 400 digits"),
    "bare integer of many digits": (
        SMALL.replace("bias: 3", f"bias: {'7' * 5000}"),
        "bare 7777777777777777777777777777777777777777...7777777777 is",
    ),
    "a list without end": (
        f'{SMALL}, inf: "none", nan: [{", ".join(["0x1F".join(chr(34) * 2)] * 5000)}]',
        "a list of more than 4096 entries",
    ),
}


def loaded(folder: Path, facts: str) -> None:
    (folder / "mine.yaml").write_text(HEAD.format("{" + facts + "}"), encoding="utf-8")
    with restored():
        load_spec(folder)


@pytest.mark.parametrize("case", REFUSED)
def test_a_grid_that_is_none_is_refused(case: str, tmp_path: Path) -> None:
    facts, message = REFUSED[case]
    with pytest.raises(SpecError) as caught:
        loaded(tmp_path, facts)
    text = str(caught.value)
    assert message in text and text.startswith(f"{tmp_path}/mine.yaml:5: ") and "\n" not in text and len(text) < 400


@pytest.mark.parametrize(
    "facts",
    [
        f'{SMALL}, inf: "none", nan: ["0x0E", "0x0F", "0x1F", "0x1E"]',
        SMALL.replace('neg_zero: "yes"', 'neg_zero: "no"') + ', inf: "none", nan: ["0x10"]',
        SMALL.replace('neg_zero: "yes"', 'neg_zero: "no"') + ', inf: "ieee", nan: ["0x10", "0x0F", "0x1F"]',
        SMALL.replace("frac_bits: 1", "frac_bits: 0") + ', inf: "ieee", nan: "none"',
        f'{POWER}, bits: 4, bias: 7, nan: ["0xF", "0xE"]',
        f'{BOOK}, values: ["2", "-0", "-1/3", "0"]',
        f'{BOOK}, values: ["0", "1", "1", "2"]',
        'class: "integer", signed: "twos_complement", bits: 16, unit_exp: -1074',
    ],
)
def test_a_grid_is_taken(facts: str, tmp_path: Path) -> None:
    loaded(tmp_path, facts)


def test_a_recipe_of_many_steps_is_refused(tmp_path: Path) -> None:
    from emu.spec.registry import shipped_root

    text = (
        (shipped_root() / "recipe" / "mxfp4_torchao_floor.yaml").read_text(encoding="utf-8").replace('"mxfp4_torchao_floor"', '"mine"', 1)
    )
    head, steps = text.split("  steps:\n", 1)
    extra = "".join(f'    - {{out: "z{number}", op: "abs", args: ["x"]}}\n' for number in range(1100))
    (tmp_path / "mine.yaml").write_text(f"{head}  steps:\n{extra}{steps}", encoding="utf-8")
    with restored(), pytest.raises(SpecError, match=r"mine\.yaml:\d+: facts\.steps: needs at most 1024 entries"):
        load_spec(tmp_path)
