"""emu_ref --descriptor: rows of objects that the build does not have, and one line for a file that is wrong."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import emu
from emu.base.errors import OpenError
from emu.cli.main import run as run_cli
from emu.engines.c_ref.descriptor_file import descriptor_text
from emu.spec import derive
from emu.spec.levels import LevelsPlan, level_plans_of
from emu.spec.models.levels import DatapathLevels
from emu.spec.models.rounding import Word
from emu.spec.registry import get, names
from emu.spec.training import derived_recipe
from tests.support.descriptor_samples import drawn_format, sealed
from tests.support.level_compare import exact
from tests.support.level_samples import Row

MINE = drawn_format(1)


def emu_ref(built: Path, *words: str, stdin: str = "") -> tuple[int, str, str]:
    done = subprocess.run([built / "emu_ref", *words], input=stdin, capture_output=True, text=True)
    return done.returncode, done.stdout, done.stderr


@pytest.fixture
def path(tmp_path: Path) -> Path:
    found = tmp_path / "mine.txt"
    found.write_text(descriptor_text([MINE, get("policy", "nvidia")]), encoding="ascii")
    return found


@pytest.mark.exhaustive
def test_a_format_of_the_user_is_generated_filled_and_checked(built: Path, path: Path) -> None:
    words = (f"convert/{MINE.id}/rne/nvidia", "--descriptor", str(path))
    code, rows, said = emu_ref(built, "gen", *words)
    assert (code, said) == (0, "")
    assert len(rows.splitlines()) > 100
    code, out, said = emu_ref(built, "check", *words, stdin=rows)
    assert (code, said) == (0, "") and out.startswith("RESULT PASS")
    inputs = "".join(f"{line.split()[1]}\n" for line in rows.splitlines()[:-1])
    assert emu_ref(built, "fill", *words, stdin=inputs) == (0, rows, "")
    assert emu_ref(built, "fill", words[0], stdin=inputs)[0] == 2
    first = rows.splitlines()[5]
    wrong = rows.replace(first, first[:-3] + ("1" if first[-3] == "0" else "0") + first[-2:], 1)
    assert emu_ref(built, "check", *words, stdin=wrong)[0] in (1, 2)
    assert emu_ref(built, "gen", words[0])[0] == 2


def test_a_datapath_of_the_user_is_generated_filled_and_checked(built: Path, path: Path) -> None:
    mine = get("datapath", "hopper_fp8").model_copy(update={"id": "my_lane"})
    path.write_text(descriptor_text([mine]), encoding="ascii")
    words = ("dot/my_lane/e4m3xe5m2", "--descriptor", str(path))
    code, rows, said = emu_ref(built, "gen", *words, "--random", "20", "--key", "7")
    assert (code, said) == (0, "")
    assert rows == emu_ref(built, "gen", "dot/hopper_fp8/e4m3xe5m2", "--random", "20", "--key", "7")[1]
    assert emu_ref(built, "check", *words, stdin=rows)[1].startswith("RESULT PASS")
    inputs = "".join(" ".join(line.split()[1:4]) + "\n" for line in rows.splitlines()[:-1])
    assert emu_ref(built, "fill", *words, stdin=inputs) == (0, rows, "")
    assert emu_ref(built, "gen", words[0])[0] == 2


RECIPES = [("if4_mae", "f46", 3, 5), ("ufp4_sr", "exact", 4, 3), ("nvfp4_te_2d_ref", "te", 3, 4)]  # and the columns of codes and of values


@pytest.mark.parametrize(("name", "profile", "codes", "values"), RECIPES)
def test_a_recipe_of_the_user_is_generated_and_checked(built: Path, path: Path, name: str, profile: str, codes: int, values: int) -> None:
    path.write_text(descriptor_text([get("recipe", name).model_copy(update={"id": "my_recipe"})]), encoding="ascii")
    ways = (("quantize/my_recipe", f"quantize/{name}", codes), (f"dequantize/my_recipe/{profile}", f"dequantize/{name}/{profile}", values))
    for mine, shipped, column in ways:
        given = ("--source", "bf16") if mine.startswith("quantize") else ()
        more = ("--descriptor", str(path), *given)
        for extra in (("--random", "20", "--key", "7"), ()):
            code, rows, said = emu_ref(built, "gen", mine, *more, *extra)
            assert (code, said) == (0, "")
            assert rows == emu_ref(built, "gen", shipped, *given, *extra)[1]
        assert emu_ref(built, "check", mine, *more, stdin=rows)[1].startswith("RESULT PASS")
        wrong = rows.splitlines()
        words = wrong[0].split(" ")
        words[column] = words[column][:-1] + ("0" if words[column][-1] != "0" else "1")
        code, out, _ = emu_ref(built, "check", mine, *more, stdin="\n".join([" ".join(words), *wrong[1:], ""]))
        assert code == 1 and "MISMATCH" in out
        assert emu_ref(built, "gen", mine)[0] == 2
    code, out, said = emu_ref(built, "gen", "dequantize/my_recipe/none_such", "--descriptor", str(path))
    assert (code, out) == (2, "") and "no such recipe with this profile" in said


SHARED = [name for name in names("rounding") if isinstance(get("rounding", name).facts.random, Word)]


@pytest.mark.parametrize("rounding", SHARED)
def test_a_recipe_whose_elements_share_random_words_draws_as_the_reference_model(built: Path, path: Path, rounding: str) -> None:
    recipe = derived_recipe("mxfp4_torchao_floor", rounding)
    path.write_text(descriptor_text([recipe]), encoding="ascii")
    words = (f"quantize/{recipe.id}", "--descriptor", str(path), "--source", "bf16")
    code, rows, said = emu_ref(built, "gen", *words, "--random", "40", "--key", "7")
    assert (code, said) == (0, "")
    assert emu_ref(built, "check", *words, stdin=rows)[1].startswith("RESULT PASS")
    lines = [line.split()[1:] for line in rows.splitlines()[:-1]]
    lanes = get("rounding", rounding).facts.random.lanes
    known = differing = 0
    for x, r, codes, scale, _, mask, *_ in lines:
        values = np.array([[int(x, 16) >> 16 * i & 0xFFFF for i in range(32)]], np.uint16)
        random = np.array([[int(r, 16) >> 32 * i & 0xFFFFFFFF for i in range(32 // lanes)]], np.uint32)
        given: dict[str, Any] = {"recipe": recipe, "source": "bf16", "engine": "exact"}
        if int(mask, 16) == 0:
            with pytest.raises(OpenError):
                emu.quantize(values, random=random, **given)
            continue
        found, other = (emu.quantize(values, random=drawn, **given) for drawn in (random, random[:, ::-1]))
        known += 1
        assert found.codes[0].tolist() == [int(codes, 16) >> 4 * i & 15 for i in range(32)]
        assert [level.codes.tolist() for level in found.levels] == [[[int(scale, 16)]]]
        differing += found.codes.tolist() != other.codes.tolist()
    assert len(lines) == 40 and known > 20 and differing > known // 2


def test_transforms_and_layouts_of_the_user_are_generated_and_checked(built: Path, path: Path) -> None:
    transform, layout = (
        get(kind, name).model_copy(update={"id": "mine"}) for kind, name in (("transform", "rht16_te"), ("layout", "sf128x4"))
    )
    block = get("block", "nvfp4").model_copy(update={"id": "my_block"})
    path.write_text(descriptor_text([transform, layout, block]), encoding="ascii")
    more = ("--descriptor", str(path))
    for mine, shipped in (("transform/mine", "transform/rht16_te"), ("layout/my_block/mine", "layout/nvfp4/sf128x4")):
        code, rows, said = emu_ref(built, "gen", mine, *more)
        assert (code, said) == (0, "")
        assert rows == emu_ref(built, "gen", shipped)[1]
        assert emu_ref(built, "check", mine, *more, stdin=rows)[1].startswith("RESULT PASS")
        assert emu_ref(built, "gen", mine)[0] == 2
    inputs = "".join(" ".join(line.split()[1:3]) + "\n" for line in rows.splitlines()[:-1])
    assert emu_ref(built, "fill", "layout/my_block/mine", *more, stdin=inputs) == (0, rows, "")
    assert emu_ref(built, "fill", "layout/nvfp4/sf128x4", stdin="0084 0000\n")[0] == 2
    assert emu_ref(built, "gen", "layout/nvfp4/sf128x4", "--random", "3")[0] == 2
    for name, kind in (("layout/none_such/sf128x4", "block"), ("layout/nvfp4/none_such", "layout")):
        code, out, said = emu_ref(built, "gen", name)
        assert (code, out) == (2, "") and f"no such {kind}" in said


LEVELS = [name for name in names("datapath") if isinstance(get("datapath", name).facts, DatapathLevels)]


@pytest.fixture(scope="module")
def of_levels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Every shipped datapath of levels."""
    found = tmp_path_factory.mktemp("levels") / "levels.txt"
    found.write_text(descriptor_text([get("datapath", name) for name in LEVELS]), encoding="ascii")
    return found


def golden(checkout: Path, name: str) -> list[Path]:
    """The .desc files of the golden suites of a datapath."""
    return sorted(path for op in ("dot", "accumulate") for path in (checkout / "vectors" / op).glob(f"*__{name}__*.desc"))


@pytest.mark.parametrize("name", LEVELS)
def test_every_golden_suite_of_levels_agrees(built: Path, of_levels: Path, checkout: Path, name: str) -> None:
    suites = golden(checkout, name)
    assert any(path.parent.name == "dot" for path in suites)
    for desc in suites:
        rows = desc.with_suffix(".tv").read_text(encoding="ascii")
        code, out, said = emu_ref(built, "check", "--desc", str(desc), "--descriptor", str(of_levels), stdin=rows)
        assert code == 0 and " mismatch=0 " in out and f" compared={len(rows.splitlines()) - 1} " in out, (desc, out)
        assert said == ""
        columns = [line.split() for line in desc.read_text().splitlines() if line.startswith("col ")]
        places = {item[1]: place for place, item in enumerate(columns)}
        for place, (_, column, role, *_) in enumerate(columns):
            if role in ("out", "stage"):
                wrong = with_a_wrong_bit(rows, place, places[f"m_{column}"], places.get(f"k_{column}"))
                code, out, _ = emu_ref(built, "check", "--desc", str(desc), "--descriptor", str(of_levels), stdin=wrong)
                assert code in (1, 2) and f" out={column} " in out, (desc, column, out)


def with_a_wrong_bit(rows: str, place: int, mask: int, kind: int | None) -> str:
    """A file of rows with the last bit of a column changed, in the first row whose lowest lane of it is known and no NaN of any kind."""
    lines = rows.splitlines()
    for number, line in enumerate(lines[:-1]):
        words = line.split(" ")
        if int(words[mask], 16) & 1 and (kind is None or not int(words[kind], 16) & 1):
            words[place] = f"{int(words[place], 16) ^ 1:0{len(words[place])}x}"
            return "\n".join([*lines[:number], " ".join(words), *lines[number + 1 :], ""])
    raise AssertionError("no row has the column")


@pytest.mark.parametrize("name", ["bf16_register_random", "mx_lane24", "int12_saturate", "rvbna4_odd"])
def test_rows_of_levels_are_made_filled_and_right(built: Path, of_levels: Path, name: str) -> None:
    words = (f"dot/{name}", "--descriptor", str(of_levels))
    plan = next(level_plans_of(get("datapath", name)))
    for extra in (("--random", "25", "--key", "3"), ()):
        code, rows, said = emu_ref(built, "gen", *words, *extra)
        assert (code, said) == (0, "")
        assert emu_ref(built, "check", *words, stdin=rows)[1].startswith("RESULT PASS")
        columns = ["a"] + ["sa"] * (plan.scale is not None) + ["b"] + ["sb"] * (plan.scale is not None)
        columns += ["c"] * (plan.c is not None) + ["r"] * bool(plan.draws(plan.facts.k))
        lines = [line.split()[1:] for line in rows.splitlines()[:-1]]
        inputs = "".join(" ".join(line[: len(columns)]) + "\n" for line in lines)
        assert emu_ref(built, "fill", *words, stdin=inputs) == (0, rows, "")
        for line in lines[:25]:
            taken = dict(zip([*columns, "d", "m_d"], line, strict=True))
            lanes = {key: _lanes(plan, key, text) for key, text in taken.items() if key not in ("d", "m_d")}
            c = lanes["c"][0] if "c" in lanes else None
            row = Row(lanes["a"], lanes["b"], lanes.get("sa", []), lanes.get("sb", []), c, lanes.get("r", []))
            wanted = exact(plan, row)
            assert wanted == (int(taken["d"], 16) if int(taken["m_d"], 16) else "OpenError")


def _lanes(plan: LevelsPlan, key: str, text: str) -> list[int]:
    """The lanes of a column, the first in the lowest bits."""
    if key == "r":
        bits = max(draw.rounding.random_bits for draw in plan.draws(plan.facts.k))
    else:
        fmt = {"a": plan.a, "b": plan.b, "sa": plan.scale, "sb": plan.scale, "c": plan.c}[key]
        assert fmt is not None
        bits = derive.codes(fmt).bits + derive.unused_high_bits(fmt)
    count = {"a": plan.facts.k, "b": plan.facts.k, "c": 1, "r": len(plan.draws(plan.facts.k))}.get(key) or plan.facts.k // plan.block
    return [int(text, 16) >> bits * i & ((1 << bits) - 1) for i in range(count)]


def test_what_levels_do_not_take_is_one_line_and_exit_2(built: Path, of_levels: Path, checkout: Path, tmp_path: Path) -> None:
    more = ("--descriptor", str(of_levels))
    code, out, said = emu_ref(built, "gen", "accumulate/rvbna4", *more)
    assert (code, out, said) == (2, "", "emu_ref: rvbna4: its levels cover no row that fits here\n")
    assert emu_ref(built, "gen", "dot/rvbna4/bf16xbf16", *more)[0] == 2
    assert emu_ref(built, "gen", "dot/rvbna4")[0] == 2
    desc = golden(checkout, "rvbna4")[0]
    for number, (old, new) in enumerate(
        (
            ("col d out 32", "col d out 31"),
            ("col b in 64 16 bf16\n", ""),
            ("v_bulk stage 32", "v_bulk in 32"),
            ("v_bulk stage 32", "v_bulk stage 0"),
            ("v_bulk stage", "v_none stage"),
            ("v_bulk stage", "w_bulk stage"),
            ("v_bulk stage", "vbulk stage"),
            ("m_v_bulk mask 32", "m_v_bulk mask 31"),
        )
    ):
        text, path = desc.read_text(), tmp_path / f"{number}.desc"
        assert old in text
        path.write_text(text.replace(old, new, 1))
        code, out, said = emu_ref(built, "check", "--desc", str(path), *more, stdin="")
        assert (code, out, said) == (2, "", f"emu_ref: {path}: its columns are not those of the contract\n")


def test_a_file_that_is_wrong_is_one_line_and_exit_2(built: Path, path: Path) -> None:
    path.write_text(path.read_text().replace("formats 1", "formats 2", 1))
    code, out, said = emu_ref(built, "gen", "decode/fp4", "--descriptor", str(path))
    assert (code, out) == (2, "")
    assert said.startswith(f"emu_ref: {path}:") and said.count("\n") == 1
    code, out, said = emu_ref(built, "gen", "decode/fp4", "--descriptor", str(path.parent / "absent"))
    assert (code, out, said) == (2, "", f"emu_ref: {path.parent / 'absent'}: cannot be read\n")
    path.write_text("# " + "x" * (1 << 20))
    code, out, said = emu_ref(built, "gen", "decode/fp4", "--descriptor", str(path))
    assert (code, said) == (2, f"emu_ref: {path}:0: bytes of the file = {2 + (1 << 20)}: at most {1 << 20}\n")


def test_a_descriptor_is_written_in_its_canonical_form(built: Path, path: Path) -> None:
    text = path.read_text(encoding="ascii")
    assert emu_ref(built, "descriptor", stdin=text) == (0, text, "")
    remarks = sealed(text.replace("formats 1\n", "# a remark\nformats 1\n", 1))
    assert emu_ref(built, "descriptor", stdin=remarks) == (0, text, "")
    code, out, said = emu_ref(built, "descriptor", stdin=text.replace("formats 1", "formats 2", 1))
    assert (code, out) == (2, "") and said.startswith("emu_ref: stdin:") and said.count("\n") == 1
    said = "emu_ref: more: descriptor takes no arguments, the file comes on stdin\n"
    assert emu_ref(built, "descriptor", "more", stdin=text) == (2, "", said)


@pytest.mark.exhaustive
def test_changed_descriptors_give_right_rows_or_one_line(built: Path, checkout: Path, tmp_path: Path) -> None:
    """A small count of what .ci/c-reference sanitizers does under the sanitizers: every run is judged by the driver."""
    here = checkout / "tests" / "engines" / "c_ref"
    sources = [*(here / f"{name}.c" for name in ("drive_tool", "fuzz_text", "fuzz_random"))]
    sources += [item for item in sorted((built / "tool").glob("*.c")) if item.name != "main.c"]
    command = ["gcc", "-std=c99", "-O1", f"-I{built}", *map(str, sources), str(built / "libemu_ref.a"), "-o", str(tmp_path / "drive")]
    subprocess.run(command, check=True)
    done = subprocess.run([tmp_path / "drive", tmp_path, "4000", "7"], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    runs, changed, loaded, written = map(int, re.findall(r"(?:runs|bytes|loaded|codes) (\d+)", done.stdout))
    assert changed >= 4000 and runs >= 150
    assert loaded > 30 and written > 30
    assert runs > loaded + 30


def test_the_command_writes_a_file_whole_or_not_at_all(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out.txt"
    words = ["export", "descriptor", "format/e2m1", "rounding/rne", "policy/nvidia"]
    assert run_cli([*words, "-o", str(out)]) == 0
    assert "lines" in capsys.readouterr().err
    assert run_cli(words) == 0
    assert capsys.readouterr().out == out.read_text(encoding="ascii")
    assert run_cli([*words, "-o", str(out)]) == 2
    assert run_cli(["export", "descriptor", "checkpoint/" + "compressed_tensors_nvfp4"]) == 2
    assert run_cli(["export", "descriptor", "format/none_such"]) == 2
