"""What lies in a folder of vectors: files that say one thing in several forms, JSON that follows its schema, a complete manifest."""

import hashlib
import json
import re
import subprocess
from importlib.resources import files
from pathlib import Path
from typing import get_args

import jsonschema
import pytest

from emu.rtl.portmap.model import Suite
from emu.vectors import load
from emu.vectors.files.manifest import MANIFEST, SUITES, parse_stem
from emu.vectors.files.record import MOST_BITS, MOST_TESTS
from emu.vectors.files.suite import ENDINGS, stem_of


def suites(folder: Path) -> list[Path]:
    """Every JSON record of a build."""
    found = sorted(folder.glob("*/*__*.json"))
    assert len(found) >= 10
    return found


def schema(name: str) -> jsonschema.Draft202012Validator:
    """A schema that ships inside the package."""
    data = json.loads((files("emu.vectors.files") / "schema" / name).read_text(encoding="ascii"))
    jsonschema.Draft202012Validator.check_schema(data)
    return jsonschema.Draft202012Validator(data)


def test_each_stem_has_its_files(built: Path) -> None:
    for path in suites(built):
        for ending in ENDINGS:
            assert (path.parent / (path.stem + ending)).is_file()
        assert str(parse_stem(path.stem)) == path.stem


def test_tv_is_mem_without_comments(built: Path) -> None:
    for path in suites(built):
        mem = path.with_suffix(".mem").read_text(encoding="ascii")
        cut = re.sub(r" //.*", "", mem).replace("_", " ")
        assert cut == path.with_suffix(".tv").read_text(encoding="ascii")


def test_the_tests_of_the_json_are_the_rows(built: Path) -> None:
    compared = 0
    for path in suites(built):
        record = json.loads(path.read_bytes())
        if record["numberOfTests"] > MOST_TESTS or record["columns"][0]["msb"] >= MOST_BITS:
            assert all("tests" not in group for group in record["groups"])
            continue
        tests = [test for group in record["groups"] for test in group["tests"]]
        lines = path.with_suffix(".tv").read_text(encoding="ascii").splitlines()[:-1]
        names = [(column["name"], column["role"], column["bits"], column["hex"]) for column in record["columns"][1:]]
        for line, test in zip(lines, tests, strict=True):
            for digits, (name, role, bits, width) in zip(line.split()[1:], names, strict=True):
                part = {"in": "in", "r": "in", "out": "out", "stage": "stages", "mask": "mask", "kind": "kind"}[role]
                silent = f"{(1 << bits) - 1:0{width}x}" if role == "mask" else "0" * width
                assert test.get(part, {}).get(name, silent) == digits
                compared += 1
        assert [test["tcId"] for test in tests] == list(range(1, len(lines) + 1))
        digest = hashlib.sha256("".join(line + "\n" for line in lines).encode("ascii")).hexdigest()
        assert digest == record["rows_sha256"] == record["shards"][0]["sha256"]
    assert compared > 70


def test_the_json_follows_its_schema(built: Path) -> None:
    judge = schema("vectors.schema.json")
    for path in suites(built):
        record = json.loads(path.read_bytes())
        judge.validate(record)
        for broken in (record | {"extra": 1}, record | {"rows_sha256": "x"}, {key: record[key] for key in record if key != "notes"}):
            assert not judge.is_valid(broken)
        used = {flag for group in record["groups"] for test in (group.get("tests") or [group]) for flag in test["flags"]}
        assert used == set(record["notes"])
    schema("errata.schema.json").validate([])


def test_every_list_of_suites_has_all_of_them() -> None:
    properties = schema("vectors.schema.json").schema["properties"]
    named = re.search(r"\(([a-z_|]+)\)\$$", properties["stem"]["pattern"])
    assert named is not None
    for listed in (properties["suite"]["enum"], named[1].split("|"), get_args(Suite)):
        assert sorted(listed) == sorted(SUITES)


ROLES = {"INS": ("in", "r"), "OUTS": ("out",), "STAGES": ("stage",)}


def test_macros_say_the_same_under_both_names(built: Path) -> None:
    for path in suites(built):
        own = path.stem.upper()
        defines = dict(
            line.split(" ", 2)[1:]
            for line in path.with_suffix(".svh").read_text().splitlines()
            if line.startswith("`define") and line.count(" ") > 1
        )
        header = dict(
            line.split(" ", 2)[1:]
            for line in path.with_suffix(".h").read_text().splitlines()
            if line.startswith("#define") and line.count(" ") > 1
        )
        record = json.loads(path.read_bytes())
        assert int(defines["TC_N"]) == record["numberOfTests"] == int(defines["TC_WORDS"]) - 1
        assert defines["TC_ROWS_SHA256"] == f'"{record["rows_sha256"]}"'
        for column in record["columns"][1:]:
            assert int(defines[f"TC_{column['name'].upper()}_LSB"]) == column["lsb"]
            assert int(header[f"{own}_{column['name'].upper()}_BITS"]) == column["bits"]
        assert all(
            defines[f"{own}_{name.removeprefix('TC_')}"] == value
            for name, value in defines.items()
            if name.startswith("TC_") and name not in ("TC_BASE", "TC_INS", "TC_OUTS", "TC_STAGES")
        )
        by_role = {role: [c for c in record["columns"] if c["role"] in roles] for role, roles in ROLES.items()}
        for role, columns in by_role.items():
            entries = [entry.split(",") for entry in defines.get(f"TC_{role}", "").replace(")", "").split("`EMU_")[1:]]
            named = [(entry[1].strip('"'), int(entry[2]), int(entry[3])) for entry in entries]
            assert named == [(c["name"], c["lsb"], c["bits"]) for c in columns]
            assert all(entry[0] == f"{'IN' if role == 'INS' else 'OUT'}({entry[1].strip(chr(34))}" for entry in entries)
            masks = [int(defines[f"TC_M_{c['name'].upper()}_LSB"]) for c in columns if role != "INS"]
            assert [int(entry[4]) for entry in entries if role != "INS"] == masks
        assert defines[f"{own}_TC_BASE"] == defines["TC_BASE"] == "1"


def test_the_self_test_file_differs_in_one_compared_bit(built: Path) -> None:
    for path in suites(built):
        suite = load(path.parent, path.stem)
        mem = [line.split(" ")[0] for line in path.with_suffix(".mem").read_text().splitlines()]
        negative = [line.split(" ")[0] for line in (path.parent / f"{path.stem}.neg.mem").read_text().splitlines()]
        assert len(negative) - 1 >= min(4, len(suite.rows))
        different = [(one, other) for one, other in zip(mem, negative[:-1], strict=False) if one != other]
        assert len(different) == 1
        flipped = int(different[0][0].replace("_", ""), 16) ^ int(different[0][1].replace("_", ""), 16)
        first = suite.layout.results[0]
        assert flipped.bit_count() == 1
        assert suite.layout.lsb(first.name) <= flipped.bit_length() - 1 < suite.layout.lsb(first.name) + first.bits


def test_manifest_lists_every_file_and_sha256sum_agrees(built: Path) -> None:
    for folder in sorted(built.iterdir()):
        listed = [line.split("  ")[1] for line in (folder / MANIFEST).read_text().splitlines()]
        assert listed == sorted(path.name for path in folder.iterdir() if path.name != MANIFEST)
        subprocess.run(["sha256sum", "-c", "--quiet", MANIFEST], cwd=folder, check=True)


def test_no_trace_of_machine_or_time(built: Path) -> None:
    text = b"".join(path.read_bytes() for path in built.rglob("*") if path.is_file())
    assert str(built).encode() not in text and b"/tmp" not in text
    assert not re.search(rb"20\d\d-\d\d-\d\d", text)


@pytest.mark.parametrize("name", ["a__b_to_c__d__smoke.s0001of0002.tv", "a__b_to_c__d__smoke.neg.mem", "a__b_to_c__d__smoke.h"])
def test_file_names_lead_to_their_stem(name: str) -> None:
    assert stem_of(name) == "a__b_to_c__d__smoke"
