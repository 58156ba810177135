"""emu list and emu show: facts as people read them, and as scripts do."""

import json
import subprocess
import sys

import pytest

from emu.cli.main import run
from emu.contracts.examples import decimal_text, exact_text, parse_value
from emu.spec import KINDS, get, names


def out_of(capsys, *words):
    assert run(list(words)) == 0
    return capsys.readouterr().out


def json_of(capsys, *words):
    return json.loads(out_of(capsys, *words, "--json"))


def test_list_names_everything(capsys):
    rows = json_of(capsys, "list")
    assert {(row["kind"], row["id"]) for row in rows} == {(kind, name) for kind in KINDS for name in names(kind)}


@pytest.mark.parametrize("kind", KINDS)
def test_list_of_one_kind(capsys, kind):
    plain = out_of(capsys, "list", {"policy": "policies", "series": "series"}.get(kind, f"{kind}s"))
    series = [name for name in names("series") if get("series", name).facts.of == kind]  # each in the place of its members
    assert [line.split()[0] for line in plain.splitlines()[1:]] == [*names(kind), *series]
    assert out_of(capsys, "list", kind) == plain
    assert run(["list", "policys"]) == 2 and "one of formats, roundings, policies, " in capsys.readouterr().err


def test_list_contracts(capsys):
    found = out_of(capsys, "list", "contracts").splitlines()
    some = {"decode/e2m1", "convert/e2m1/rne/nvidia", "quantize/nvfp4_te_ref", "dequantize/nvfp4_te_ref/te", "transform/rht16_te"}
    assert some <= set(found)
    assert json_of(capsys, "list", "contracts") == found


@pytest.mark.cases(34)
@pytest.mark.parametrize(("kind", "name"), [(kind, name) for kind in KINDS for name in names(kind)])
def test_show_everything(capsys, kind, name):
    text = out_of(capsys, "show", f"{kind}/{name}")
    assert text.startswith(f"{kind}/{name}: ")
    (data,) = json_of(capsys, "show", f"{kind}/{name}")
    assert data["id"] == name
    assert len(data["digest"]) == 64
    thing = get(kind, name)
    assert all(f"\n    {source.ref}: " in text for source in thing.sources)
    assert all(point.what in text for point in thing.open)


def test_values_of_e2m1(capsys):
    (data,) = json_of(capsys, "show", "e2m1")
    assert [row["value"] for row in data["codes"][:9]] == ["0", "1/2", "1", "3/2", "2", "3", "4", "6", "-0"]
    assert [row["decimal"] for row in data["codes"][8:]] == ["-0", "-0.5", "-1", "-1.5", "-2", "-3", "-4", "-6"]
    assert data["derived"] == {"bits": 4, "values": 15, "max": "6", "min": "-6", "smallest_positive": "1/2", "nan": "none", "inf": "none"}


def test_wide_formats_show_landmarks_or_all(capsys):
    (data,) = json_of(capsys, "show", "format/ue4m3")
    shown = {row["code"]: row["value"] for row in data["codes"]}
    assert shown == {"0x00": "0", "0x01": "1/512", "0x07": "7/512", "0x08": "1/64", "0x38": "1", "0x7E": "448", "0x7F": "nan"}
    assert json_of(capsys, "show", "ue4m3", "--all")[0]["derived"]["values"] == 127
    assert len(json_of(capsys, "show", "ue4m3", "--all")[0]["codes"]) == 128
    assert "0x7F800000" in out_of(capsys, "show", "fp32")


def test_steps_of_a_recipe_are_numbered_and_decoded(capsys):
    text = out_of(capsys, "show", "nvfp4_te_ref")
    recipe = get("recipe", "nvfp4_te_ref")
    lines = [line.strip() for line in text.splitlines()]
    assert "5. amax_multiplier   = tensor_multiplier * 0x3E2AAAAB (~0.166666672)  [tensor]" in lines
    assert f"{len(recipe.facts.steps)}. emit codes = codes, tensor = tensor_amax, scale = scale" in lines
    assert "9. scale             = cast(scale_clamped) (to ue4m3, rne, overflow saturate)  [block]" in lines
    assert "dequantize, profile te (default)" in lines


def test_an_alias_and_a_name_of_two_kinds(capsys):
    assert out_of(capsys, "show", "nvfp4_te") == out_of(capsys, "show", "nvfp4_te_ref")
    assert [data["kind"] for data in json_of(capsys, "show", "hif4")] == ["block", "recipe"]


def test_near_names_are_suggested(capsys):
    assert run(["show", "nvfp4_te_reff"]) == 2
    assert "did you mean nvfp4_te_ref" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "exact", "decimal"),
    [
        ("3/4", "3/4", "0.75"),
        ("-0", "-0", "-0"),
        ("nan", "nan", "nan"),
        ("-inf", "-inf", "-inf"),
        ("2^-149", "2^-149", "~1.40129846e-45"),
        ("2^127", "2^127", "~1.70141183e+38"),
        ("-1/3", "-1/3", "~-0.333333333"),
        ("11184811/67108864", "11184811*2^-26", "~0.166666672"),
        ("57344", "57344", "57344"),
        ("1000001", "1000001", "1000001"),
    ],
)
def test_numbers_as_text(text, exact, decimal):
    value = parse_value(text)
    assert (exact_text(value), decimal_text(value)) == (exact, decimal)


def test_a_folder_of_spec_files_is_listed_and_shown(tmp_path):
    (tmp_path / "mine.yaml").write_text(
        'kind: "format"\nid: "mine"\ntitle: "my 3-bit format"\nstatus: "proposed"\n'
        'facts: {class: "float", signed: "yes", exp_bits: 1, frac_bits: 1, bias: 1, subnormals: "yes", '
        'inf: "none", nan: "none", neg_zero: "yes"}\n'
        'expect: [{code: "0x3", value: "3/2"}]\nopen: []\nsources: [{ref: "emu", where: "a test"}]\n'
    )
    command = [sys.executable, "-P", "-c", "from emu.cli.main import main; main()", "show", "mine", "--spec", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.startswith("format/mine: my 3-bit format\n")
    assert "0x3   011     3/2  1.5" in done.stdout


@pytest.mark.exhaustive  # processes of their own
def test_a_broken_file_of_a_folder_does_not_disable_the_others(tmp_path):
    (tmp_path / "mine.yaml").write_text('kind: "format"\nid: "mine"\nfacts: {\n')

    def emu(*words):
        command = [sys.executable, "-P", "-c", "from emu.cli.main import main; main()", *words, "--spec", str(tmp_path)]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    other, own = emu("show", "e2m1"), emu("show", "mine")
    assert (other.returncode, own.returncode) == (0, 2)
    assert other.stdout.startswith("format/e2m1: ") and "(mine.yaml is left out)" in other.stderr
    assert own.stderr.splitlines()[-1].startswith(f"emu: {tmp_path}/mine.yaml:")
    checked = emu("doctor", "--json")
    states = {item["what"]: item["state"] for item in json.loads(checked.stdout)["checks"]}
    assert checked.returncode == 1 and states["mine.yaml"] == "WRONG"


def test_show_datapath_with_derived_widths(capsys):
    out = out_of(capsys, "show", "blackwell_mxf4nvf4_b16_ue4m3")
    assert '  levels:\n    - {id: "grp", of: 16, add: "exact", scale: {}}\n    - {id: "k", ' in out and "align: {fraction_bits: 35, " in out
    assert "  derived widths\n    e2m1 x e2m1, ue4m3: product 8; group sum 12; term 19; " in out
    assert "exact sum of 64 in 49 bits and a sign from 2^-20; adder 49 = 35 + 13 + 1, E at least -139\n" in out
    assert "K at most 3577648 whatever the values are" in out_of(capsys, "show", "int64")
    refused = out_of(capsys, "show", "sm_103")
    assert "refused: datapath sm_103: no published model" in refused
