"""The record: fresh in this checkout, stale when the spec changes, whole lines only, and the command around it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from emu.base.errors import FileError
from emu.cli.main import run
from emu.spec.registry import get, replaced
from emu.vectors import sweep as sweeps

SMALL = ("special", "bf16", "e2m1")


def call(capsys: pytest.CaptureFixture[str], *words: object) -> tuple[int, str, str]:
    code = run([str(word) for word in words])
    found = capsys.readouterr()
    return code, found.out, found.err


@pytest.fixture
def small(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    """A record of a few quick sweeps."""
    path = tmp_path / "sweeps.json"
    assert call(capsys, "sweep", "-o", path, *(word for name in SMALL for word in ("--only", name)))[0] == 0
    return path


def chosen() -> list[sweeps.Sweep]:
    return [one for one in sweeps.planned() if set(SMALL) <= set(one.name.split("/"))]


def test_the_record_of_this_checkout_is_fresh(checkout: Path) -> None:
    found = sweeps.stale_sweeps(checkout / "docs" / "evidence" / "sweeps.json", sweeps.planned())
    assert found.line(Path("docs/evidence/sweeps.json")) is None


def test_every_line_of_the_record_is_a_whole_space(checkout: Path) -> None:
    lines = sweeps.read_record(checkout / "docs" / "evidence" / "sweeps.json")
    for sweep in sweeps.planned():
        line = lines.get(sweep.name)
        if line is not None:
            assert line["inputs"] == sweeps.count_inputs(sweep), sweep.name
            alone = sweep.kind == "random" and sweep.roundings[0].facts.add == "te_fma"  # to an integer grid: docs/sweeps.md
            assert len(line["engines"]) >= (1 if alone else 2), sweep.name
            assert line["exact"] >= 10, sweep.name


def test_a_record_has_digests_of_codes_and_facts(small: Path) -> None:
    lines = sweeps.read_record(small)
    assert set(lines) == {one.name for one in chosen()}
    for sweep in chosen():
        assert lines[sweep.name]["spec_sha256"] == sweep.spec_sha256
        assert len(lines[sweep.name]["codes_sha256"]) == 64
    assert sweeps.stale_sweeps(small, chosen()) == sweeps.Stale((), (), ())
    assert sweeps.of_other_code(small) == 0


def test_a_second_run_writes_the_same_digests(small: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = {name: line["codes_sha256"] for name, line in sweeps.read_record(small).items()}
    assert call(capsys, "sweep", "-o", small, *(word for name in SMALL for word in ("--only", name)))[0] == 0
    assert {name: line["codes_sha256"] for name, line in sweeps.read_record(small).items()} == before


def test_a_changed_fact_makes_the_record_stale(small: Path) -> None:
    fmt = get("format", "e2m1")
    with replaced(fmt.model_copy(update={"facts": fmt.facts.model_copy(update={"bias": 2})})):
        found = sweeps.stale_sweeps(small, chosen())
        assert set(found.changed) == {one.name for one in chosen()}
        line = found.line(small)
    assert line is not None
    assert line.startswith(f"{small}: {len(found.changed)} of other facts (first: special/bf16/e2m1/")
    assert line.endswith("to mend it: emu sweep --stale")


def test_a_title_does_not_matter_and_another_policy_does(small: Path) -> None:
    policy = get("policy", "torchao")
    with replaced(policy.model_copy(update={"title": "another title"})):
        assert sweeps.stale_sweeps(small, chosen()) == sweeps.Stale((), (), ())
    without = {name: entry for name, entry in policy.facts.items() if name != "e2m1"}
    with replaced(policy.model_copy(update={"facts": without, "expect": ()})):
        assert sweeps.stale_sweeps(small, chosen()).extra == ("special/bf16/e2m1/torchao",)


def test_stale_sweeps_alone_are_run_again(small: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = json.loads(small.read_text())
    del text["sweeps"]["special/bf16/e2m1/nvidia"]
    text["sweeps"]["special/bf16/e2m1/amd"]["spec_sha256"] = "0" * 64
    small.write_text(json.dumps(text))
    words = ["sweep", "-o", small, "--stale", "--json", *(word for name in SMALL for word in ("--only", name))]
    code, out, _ = call(capsys, *words)
    assert code == 0
    assert {row["sweep"] for row in json.loads(out)} == {"special/bf16/e2m1/nvidia", "special/bf16/e2m1/amd"}
    assert sweeps.stale_sweeps(small, chosen()) == sweeps.Stale((), (), ())
    assert json.loads(call(capsys, *words)[1]) == []


def test_check_tells_in_one_line(small: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = call(capsys, "sweep", "--check", "-o", small)
    assert (code, out) == (1, "")
    assert err.startswith(f"emu: {small}: {len(sweeps.planned()) - len(chosen())} missing (first: ")
    assert err.count("\n") == 1


def test_a_part_is_printed_and_never_recorded(small: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = small.read_bytes()
    words = ("--only", "fp32", "--only", "e2m1", "--only", "rne", "--only", "saturate")
    code, out, err = call(capsys, "sweep", "-o", small, *words, "--codes", "0x40000000:0x40000100")
    assert code == 0
    assert "fp32/e2m1/rne/saturate     256" in out
    assert "recorded" not in err
    assert small.read_bytes() == before
    (result,) = sweeps.run([one for one in sweeps.planned() if one.name == "fp32/e2m1/rne/saturate"], codes=range(256))
    with pytest.raises(FileError, match="covers 256 inputs of 4294967296"):
        sweeps.add_result(small, result)


def test_a_difference_is_exit_code_one(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    from emu.vectors.sweep import judge

    real = judge.run_convert

    def convert(*given: Any) -> Any:
        return real(*given) ^ (given[-1] == "c_ref")

    monkeypatch.setattr(judge, "run_convert", convert)
    path = tmp_path / "sweeps.json"
    code, out, err = call(capsys, "sweep", "-o", path, "--only", "special", "--only", "bf16", "--only", "e2m1")
    assert (code, out) == (1, "")
    assert "c_ref 0x1, exact 0x0" in err
    assert not path.exists()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--only", "e9m9"], "no sweep has all of e9m9 in its name"),
        (["--codes", "5"], "no range of codes"),
        (["--codes", "9:3"], "no range of codes"),
        (["--only", "special", "--only", "bf16", "--engine", "fst"], "none of the engines fst"),
    ],
)
def test_misuse_is_one_line(words: list[str], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = call(capsys, "sweep", "-o", tmp_path / "a.json", *words)
    assert (code, out) == (2, "")
    assert said in err
    assert err.count("\n") == 1


def test_a_folder_that_is_not_there_and_a_file_that_is_no_record(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = call(capsys, "sweep", "-o", tmp_path / "none" / "a.json", "--only", "special", "--only", "bf16")
    assert code == 2
    assert "no such folder" in err
    (tmp_path / "a.json").write_text("[]")
    code, _, err = call(capsys, "sweep", "-o", tmp_path / "a.json", "--check")
    assert code == 2
    assert "no record of sweeps" in err
