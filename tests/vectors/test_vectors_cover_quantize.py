"""Coverage of decoders and block quantizers: hand-checked blocks, classes of codes by a count of their own, folders with digests alone."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from emu.base.errors import FileError
from emu.vectors import find, load
from emu.vectors.coverage.count import check_cover, counted, cover_data, crosses_of, examples, write_cover
from emu.vectors.coverage.record import render
from emu.vectors.files import manifest
from emu.vectors.files.write import write_suite

TE = "quantize__bf16_to_nvfp4__nvfp4_te_ref__directed"
DOT = "dot__e2m1xe2m1_ue4m3_to_fp32__blackwell_mxf4nvf4_b16_ue4m3__smoke"
SIX = 0x40C00000  # 6 in binary32


def block(*lanes: int) -> int:
    """A block of bf16 codes, lane 0 in the low bits."""
    return sum(code << 16 * lane for lane, code in enumerate(lanes))


def bins(values: tuple[int, ...]) -> dict[str, set[str]]:
    return {cross.name: {" ".join(one) for one in cross.hits} for cross in crosses_of(TE, [(1, values)])}


@pytest.mark.cases(3)
@pytest.mark.parametrize(
    ("values", "wanted"),
    [
        ((block(), SIX, 16), {"packing": {"0 low", "0 high"}, "scale": {"zero all_zero"}, "maximum": set(), "tail": {"whole all_zero"}}),
        ((block(0x3F80, 0xBF80), SIX, 16), {"maximum": {"several ordinary"}, "packing": {"0 low", "0 high", "7 low", "f high"}}),
        ((block(1, 0x8002), SIX, 2), {"maximum": {"last subnormal"}, "tail": {"some subnormal"}, "tensor": {"normal subnormal"}}),
        ((block(0, 0x3F80), 0x7F7FFFFF, 16), {"tensor": {"largest one_element"}, "maximum": {"middle one_element"}}),
        ((block(0x3F80), SIX, 1), {"tail": {"one one_element"}, "maximum": set()}),
    ],
)
def test_hand_checked_blocks(values: tuple[int, ...], wanted: dict[str, set[str]]) -> None:
    found = bins(values)
    assert {name: found[name] for name in wanted} == wanted


def test_codes_of_ue4m3_are_counted_as_their_fields_say() -> None:
    stem = "decode__ue4m3_to_fp32__exact__all"
    found = {cross.name: cross for cross in crosses_of(stem, [(code + 1, (code,)) for code in range(256)])}
    words = [
        "open" if code > 127 else "nan" if code == 127 else "zero" if not code else "subnormal" if code < 8 else "normal"
        for code in range(256)
    ]
    assert {one[0]: hit.rows for one, hit in found["class"].hits.items()} == Counter(words)
    fractions = Counter("all_ones" if code % 8 == 7 else ["zero", "one"][code % 8] if code % 8 < 2 else "between" for code in range(128))
    counts: Counter[str] = Counter()
    for one, hit in found["field"].hits.items():
        counts[one[1]] += hit.rows
    assert counts == fractions and all(cross.holes() == [] for cross in found.values())
    assert {known.proof for cross in found.values() for known in cross.unreachable.values()} == {"exhaustion"}


def test_the_widest_suite_of_a_contract_is_counted() -> None:
    sizes = {"convert__a__b__smoke": 48, "convert__a__b__directed": 9000, "convert__a__b__all": 65536, "convert__a__c__all": 256}
    sizes |= {"convert__a__d__random": 16384, "convert__a__e__smoke": 48, "convert__a__e__kill": 30}
    assert counted(sizes) == ["convert__a__b__directed", "convert__a__c__all", "convert__a__e__kill"]


@pytest.mark.exhaustive
def test_a_directed_suite_that_is_a_digest_alone_is_counted_too(tmp_path: Path) -> None:
    folder = tmp_path / "accumulate"
    stem = "accumulate__e1m2xe1m2_ue4m3_to_fp32__int64_b16__smoke"
    other = stem.replace("smoke", "directed")
    folder.mkdir()
    write_suite(find(stem), folder, tmp_path / "scratch")
    (folder / manifest.DIGESTS).write_text(f"{'0' * 64}  {other}\n")
    write_cover(folder)
    data = json.loads((folder / "COVER.json").read_text())
    assert [(entry["stems"], entry["rows"]) for entry in data["suites"]] == [([other], find(other).size)]
    suites = [load(folder, stem)]
    check_cover(folder, suites)
    check_cover(folder, suites, full=True)
    data["suites"][0]["crosses"]["chain"]["hits"]["first"]["zero"][0] += 1
    (folder / "COVER.json").write_text(render(data))
    check_cover(folder, suites)
    with pytest.raises(FileError, match="directed: does not follow from the rows"):
        check_cover(folder, suites, full=True)
    (folder / manifest.DIGESTS).unlink()
    with pytest.raises(FileError, match="not written as the writer does, of these suites"):
        check_cover(folder, suites)


@pytest.mark.exhaustive
def test_examples_come_from_the_directed_rows() -> None:
    plan: Any = find(DOT)
    crosses = crosses_of(DOT, [(1, plan.cases(0, 1)[0].values)])
    special = [cross for cross in crosses if cross.name == "special"]
    found = examples(DOT, special)
    assert {one for _, one in found} == set(special[0].holes())
    again = crosses_of(DOT, [(number, values) for number, values in enumerate(found.values(), 1)])
    assert {one for cross in again if cross.name == "special" for one in cross.hits} >= set(special[0].holes())


def test_no_suite_no_record() -> None:
    assert cover_data("convert", []) is None and cover_data("transform", []) is None


@pytest.mark.cases(0, 2)
@pytest.mark.parametrize("op", ["decode", "convert", "quantize", "dot", "accumulate"])
def test_cover_files_of_the_frozen_set_follow_from_all_rows(op: str, checkout: Path) -> None:
    folder = checkout / "vectors" / op
    stems = sorted({path.name.removesuffix(".json") for path in folder.glob(f"{op}__*.json")})
    check_cover(folder, [load(folder, stem) for stem in stems], full=True)


@pytest.mark.exhaustive
def test_cover_files_of_the_frozen_set_are_small(checkout: Path) -> None:
    sizes = [path.stat().st_size for path in (checkout / "vectors").glob("*/COVER.json")]
    assert len(sizes) == 5 and sum(sizes) < 500_000
