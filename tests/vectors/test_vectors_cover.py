"""Coverage of conversions: bins of hand-checked rows, counts against a count of their own, proofs against all codes, the record."""

import json
from collections import Counter
from fractions import Fraction
from importlib.resources import files
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from emu.base.caches import Cache
from emu.base.errors import EngineError, FileError, SpecError
from emu.contracts import parse
from emu.contracts.convert.cover import ConvertCover
from emu.spec import get, names
from emu.vectors import build, find, verify
from emu.vectors.coverage.count import check_cover, cover_data, crosses_of, model_of, subject_of, write_cover
from emu.vectors.coverage.model import count, row_bins
from emu.vectors.coverage.record import record, render
from emu.vectors.files import manifest
from emu.vectors.files.suite import load

RNE = "convert__bf16_to_e2m1__nvidia_rne__directed"
ALL = "convert__bf16_to_e2m1__nvidia_rne__all"
GRID = [Fraction(n, 2) for n in (0, 1, 2, 3, 4, 6, 8, 12, 16)]  # values of E2M1 and the one that would follow


def own_interval(code: int) -> tuple[str, str, str] | None:
    """Interval, lost part and sign of a bf16 code, worked out here: no code of emu."""
    exp, fraction = code >> 7 & 255, code & 127
    if exp == 255:
        return None
    value = Fraction(fraction if exp == 0 else 128 + fraction) * Fraction(2) ** (max(exp, 1) - 134)
    if value >= GRID[-1]:
        return None
    low = max(place for place in range(8) if GRID[place] <= value)
    part = (value - GRID[low]) / (GRID[low + 1] - GRID[low])
    lost = "zero" if part == 0 else "half" if 2 * part == 1 else "less_than_half" if 2 * part < 1 else "more_than_half"
    return f"{low:x}", lost, "minus" if code >> 15 else "plus"


def counts(stem: str, codes: list[tuple[int, ...]]) -> dict[str, Any]:
    return {cross.name: cross for cross in crosses_of(stem, list(enumerate(codes, 1)))}


@pytest.fixture(scope="module")
def everything() -> dict[str, Any]:
    """The crosses of all bf16 codes."""
    return counts(ALL, [(code,) for code in range(1 << 16)])


@pytest.mark.exhaustive
def test_intervals_are_those_of_an_own_count(everything: dict[str, Any]) -> None:
    wanted = Counter(found for code in range(1 << 16) if (found := own_interval(code)) is not None)
    assert {one: hit.rows for one, hit in everything["interval_lost"].hits.items()} == dict(wanted)
    assert sum(wanted.values()) > 30000 and len(wanted) == 64


def test_a_wrong_classifier_is_noticed(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    """The count above would differ when ties were put among the parts below the half."""
    right = ConvertCover.points

    def wrong(self: ConvertCover, values: tuple[int, ...]) -> list[Any]:
        return [{**point, "lost": "less_than_half"} if point.get("lost") == "half" else point for point in right(self, values)]

    codes = [(code,) for code in range(0x3E00, 0x4100)]
    wanted = Counter(found for (code,) in codes if (found := own_interval(code)) is not None)
    assert {one: hit.rows for one, hit in counts(ALL, codes)["interval_lost"].hits.items()} == dict(wanted)
    monkeypatch.setattr(ConvertCover, "points", wrong)
    monkeypatch.setattr("emu.contracts.convert.cover._REACHED", Cache(f"tests.{request.node.name}", 256))
    assert {one: hit.rows for one, hit in counts(ALL, codes)["interval_lost"].hits.items()} != dict(wanted)


@pytest.mark.exhaustive
def test_what_is_proved_out_of_reach_is_reached_by_no_bf16_code_and_all_else_is(everything: dict[str, Any]) -> None:
    for cross in everything.values():
        assert cross.holes() == []
        assert len(cross.hits) + len(cross.unreachable) == cross.size
        assert {known.proof for known in cross.unreachable.values()} <= {"thresholds"}


@pytest.mark.cases(0, 2)
@pytest.mark.parametrize("dst", ["e4m3", "e8m0", "int4", "nf4", "e3m0", "ue4m3", "uint1", "fp16"])
def test_proofs_hold_over_all_bf16_codes(dst: str) -> None:
    for rounding in ("rne", "rd"):
        found = (
            counts(f"convert__bf16_to_{dst}__nvidia_{rounding}__directed", [(code,) for code in range(1 << 16)])
            if (dst != "nf4" or rounding == "rne")
            else {}
        )
        assert all(cross.holes() == [] for cross in found.values())


def test_examples_reach_their_bins() -> None:
    stem = "convert__fp32_to_e2m1__nvidia_sr_add8__directed"
    op = find(stem).operation
    subject, model = subject_of(op), model_of("convert")
    assert model is not None
    seen = 0
    for cross in crosses_of(stem, [(1, (0, 0))]):
        for one in cross.holes():
            example = cross.settled[one].example
            assert example is not None and " ".join(one) in row_bins(subject, model, example)[cross.name]
            seen += 1
    assert seen > 100


def test_a_refuted_proof_is_an_error(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    right = ConvertCover.ranges
    monkeypatch.setattr(ConvertCover, "ranges", lambda self: [part for part in right(self) if not part.sign])
    monkeypatch.setattr("emu.contracts.convert.cover._REACHED", Cache(f"tests.{request.node.name}", 256))
    with pytest.raises(EngineError, match="beyond normal minus: test case 1 reaches it, and it is said that nothing does"):
        counts(RNE, [(0xC200,)])


def test_random_axis_is_there_where_a_rounding_draws() -> None:
    assert "draw" not in counts(RNE, [(0,)])
    found = counts("convert__bf16_to_e2m1__nvidia_sr_add8__directed", [(0x4020, 0x7F), (0x4020, 0x80), (0x4020, 0), (0x4020, 255)])
    assert {" ".join(one): hit.first for one, hit in found["draw"].hits.items()} == {
        "zero half down": (3,), "between half down": (1,), "between half up": (2,), "all_ones half up": (4,),
    }  # fmt: skip


def test_every_model_has_code_and_every_axis_a_meaning() -> None:
    for name in names("coverage"):
        model = get("coverage", name)
        assert model_of(model.facts.op) is model and model.expect
    with pytest.raises(SpecError, match="layout: no coverage model: there are some of"):
        subject_of(parse("layout/nvfp4/sf128x4"))


def test_an_axis_that_no_code_knows_is_refused() -> None:
    model = get("coverage", "convert")
    axes = {**model.facts.axes, "interval": model.facts.axes["interval"].model_copy(update={"each": "distance"})}
    other = model.model_copy(update={"facts": model.facts.model_copy(update={"axes": axes})})
    with pytest.raises(SpecError, match="axis interval: no such axis is known for convert"):
        count(subject_of(find(RNE).operation), other, [])


def test_the_record_follows_its_schema_and_says_every_bin(tmp_path: Path) -> None:
    build(tmp_path / "out", ["smoke", "directed"], ["convert/e2m1/rne/nvidia"])
    folder = tmp_path / "out" / "convert"
    text = (folder / "COVER.json").read_text(encoding="ascii")
    data = json.loads(text)
    schema = json.loads((files("emu.vectors.files") / "schema" / "cover.schema.json").read_text(encoding="ascii"))
    judge = jsonschema.Draft202012Validator(schema)
    judge.validate(data)
    assert render(data) == text
    for entry in data["suites"]:
        for cross in entry["crosses"].values():
            assert cross["hit"] + cross["unreachable"] + cross["holes"] == cross["bins"]
            assert sum(map(len, cross["hits"].values())) == cross["hit"]
            assert all(len(found) == 2 for part in cross["hits"].values() for found in part.values())
    directed = next(entry for entry in data["suites"] if RNE in entry["stems"])
    assert directed["crosses"]["interval_lost"]["missed"] == {} and directed["crosses"]["special"]["holes"] == 0


@pytest.mark.exhaustive
def test_verify_notices_a_changed_cover_file(tmp_path: Path) -> None:
    build(tmp_path / "out", ["smoke"], ["convert/e2m1/rne/nvidia"])
    folder = tmp_path / "out" / "convert"
    suites = [load(folder, path.name.removesuffix(".json")) for path in sorted(folder.glob("convert__*.json"))]
    check_cover(folder, suites)
    path = folder / "COVER.json"
    kept = path.read_text(encoding="ascii")
    write_cover(folder)
    data = cover_data("convert", suites)
    assert data is not None and path.read_text(encoding="ascii") == kept == render(data)
    changes = {
        '"hit": ': "not written as the writer does",
        '"hit":1': "does not follow from the rows",
        '"hyt":': "does not follow from the rows",
        '"hit"': "missing or malformed",
    }
    for text, why in changes.items():
        path.write_text(kept.replace('"hit":', text, 1), encoding="ascii")
        with pytest.raises(FileError, match=rf"COVER\.json: .*{why}"):
            check_cover(folder, suites)
    (folder / manifest.MANIFEST).write_text(manifest.render_manifest(folder), encoding="ascii")
    assert verify(tmp_path / "out").exit_code == 2


def test_equal_suites_share_an_entry() -> None:
    model = model_of("convert")
    assert model is not None
    crosses = crosses_of(RNE, [(1, (0x4020,))])
    data = record(model, [("a", 1, crosses), ("b", 1, crosses), ("c", 2, crosses)])
    assert [entry["stems"] for entry in data["suites"]] == [["a", "b"], ["c"]]
