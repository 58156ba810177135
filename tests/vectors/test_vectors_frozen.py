"""vectors/: the frozen set is complete, small, made of today's facts, and one command makes the same bytes again."""

import json
from pathlib import Path
from typing import Any

import pytest

from emu.spec import get, names
from emu.spec.models.levels import DatapathLevels
from emu.vectors import build, compare, find, load, selection, verify
from emu.vectors.files.manifest import ABOUT, BENCH, MANIFEST, OPERATIONS, VECTORS_VERSION, read_digests, render_manifest
from emu.vectors.files.suite import stem_of
from emu.vectors.suites.frozen import missing

COMMAND = "emu vectors build --out vectors.new"
MOST_BYTES = 24_000_000
MOST_BYTES_OF_A_FILE = 2_000_000


@pytest.fixture(scope="module")
def frozen(checkout: Path) -> Path:
    """The folder in git."""
    return checkout / "vectors"


def folders(frozen: Path) -> list[Path]:
    """The folders of operations: all but the benches and the files about the set."""
    found = sorted(path for path in frozen.iterdir() if path.name not in (BENCH, *ABOUT))
    assert {path.name for path in found} <= set(OPERATIONS) and len(found) >= 7
    return found


def stems(frozen: Path) -> set[str]:
    """Every stem that has a file."""
    return {stem for folder in folders(frozen) for path in folder.iterdir() if (stem := stem_of(path.name)) is not None}


def record_of(frozen: Path, stem: str) -> dict[str, Any]:
    """The JSON record of a suite, as it stands."""
    found: dict[str, Any] = json.loads((frozen / stem.partition("__")[0] / f"{stem}.json").read_bytes())
    return found


def test_files_and_digests_are_the_selection(frozen: Path) -> None:
    chosen = selection()
    assert missing() == []
    assert stems(frozen) == {plan.stem for plan in chosen.shipped}, COMMAND
    digests = {stem for folder in folders(frozen) for stem in read_digests(folder)}
    assert digests == {plan.stem for plan in chosen.digests}, COMMAND


def test_it_is_small(frozen: Path) -> None:
    sizes = [path.stat().st_size for path in frozen.rglob("*") if path.is_file()]
    assert len(sizes) > 500 and sum(sizes) <= MOST_BYTES and max(sizes) <= MOST_BYTES_OF_A_FILE


def test_a_copied_folder_says_what_it_is(frozen: Path, checkout: Path) -> None:
    assert all((frozen / name).is_file() for name in ABOUT)
    assert (frozen / "LICENSE").read_bytes() == (checkout / "LICENSE").read_bytes()
    page = (frozen / "README.md").read_text(encoding="utf-8")
    for stem in stems(frozen):
        record = record_of(frozen, stem)
        (line, *_) = [line for line in page.splitlines() if line.startswith(f"| `{record['contract']['name']}`")]
        assert f"| {record['numberOfTests']} |" in page and line, stem
    listed = [line.split(" ", 1) for line in (frozen / "VERSION").read_text(encoding="ascii").splitlines()]
    assert dict(listed)["vectors"] == VECTORS_VERSION and len(dict(listed)["manifests_sha256"]) == 64
    assert "no regression suite" in page  # of kill suites


MAIN = {
    "blackwell_mxf4nvf4_b16_ue4m3", "blackwell_mxf4_b32_ue8m0", "hopper_fp8", "cdna3_fp8", "nv_like_b16", "int64_b16",
    *("bf16_register", "bf16_register_random", "fp16_register", "int20_saturate", "int20_wrap", "fp32_fma_chain", "e1m2_int24_register"),
}  # fmt: skip


def test_directed_rows_of_the_main_contracts_are_files(frozen: Path) -> None:
    named = {stem for stem in stems(frozen) if stem.endswith("__directed")}
    assert {stem.split("__")[2] for stem in named if stem.startswith("dot__")} >= MAIN
    for source in ("fp32", "bf16", "fp16"):
        for result in ("e1m2", "int4", "e2m1"):
            for rounding in ("rne", "rz", "sr_add8"):
                assert f"convert__{source}_to_{result}__nvidia_{rounding}__directed" in named
    for pair in ("e1m2xe1m2", "int4xint4", "e2m1xe2m1"):
        records = [record_of(frozen, stem)["contract"] | record_of(frozen, stem) for stem in named if stem.startswith(f"dot__{pair}_ue4m3")]
        proposals = {contract for record in records for contract in (record["name"], *record["aliases"])}
        assert {f"dot/nv_like/{pair}/ue4m3/16", f"dot/int64/{pair}/16"} <= proposals
    for stem in named:
        if stem.startswith("dot__"):
            assert any(column["role"] == "stage" for column in record_of(frozen, stem)["columns"]), stem


def test_it_holds_what_it_promises(frozen: Path) -> None:
    named = stems(frozen)
    assert {"decode__e2m1_to_fp32__exact__all", "decode__ue4m3_to_fp32__exact__all", "decode__e8m0_to_fp32__exact__all"} <= named
    for policy in ("nvidia", "ocp_saturate"):
        for rounding in ("rne", "rz", "sr_add8"):
            assert f"convert__bf16_to_e2m1__{policy}_{rounding}__directed" in named
    for name in (name for name in names("datapath") if isinstance(get("datapath", name).facts, DatapathLevels)):
        assert any(stem.startswith("dot__") and stem.endswith(f"__{name}__smoke") for stem in named), name
    quantized = {contract.split("/")[1] for stem in named if stem.startswith("quantize") for contract in find(stem).named()}
    assert len(quantized) >= 35
    assert any(
        stem.endswith("__all") and stem.startswith("quantize__bf16_to_nvfp4__nvfp4_te_ref") for stem in read_digests(frozen / "quantize")
    )


def test_every_file_follows_from_its_rows_and_todays_facts(frozen: Path) -> None:
    for folder in folders(frozen):
        assert (folder / MANIFEST).read_text(encoding="ascii") == render_manifest(folder)
    for stem in sorted(stems(frozen)):
        plan = find(stem)
        suite = load(frozen / plan.operation.name.op, stem)
        assert suite.record["contract"]["spec_sha256"] == plan.operation.name.spec_sha256, f"{stem}: facts changed: {COMMAND}"
        assert suite.record["aliases"] == list(plan.aliases), f"{stem}: {COMMAND}"


PARTS = (
    "decode/e2m1",
    "convert/e2m1/rne/nvidia",
    "quantize/nvfp4_torchao",
    "quantize/hif4",
    "dequantize/nvfp4_te_ref/te",
    "transform/rht16_te",
)


@pytest.mark.cases(2)
@pytest.mark.parametrize("contract", PARTS)
def test_a_part_built_again_has_the_same_bytes(frozen: Path, tmp_path: Path, contract: str) -> None:
    build(tmp_path, ["smoke", "all"] if contract.startswith("decode") else ["smoke"], [contract])
    compared = 0
    for path in sorted(tmp_path.glob("*/*")):
        stem = stem_of(path.name)
        if stem in stems(frozen):
            old, new = load(frozen / path.parent.name, str(stem)), load(path.parent, str(stem))
            assert (frozen / path.parent.name / path.name).read_bytes() == path.read_bytes(), "\n".join(
                [*compare(old, new).rows[:5], COMMAND]
            )
            compared += 1
    assert compared >= 7


@pytest.mark.cases(0, 0)  # scripts/main-job does it
def test_one_command_makes_the_same_bytes_again(frozen: Path, tmp_path: Path) -> None:
    build(tmp_path / "new", jobs=2)
    for path in sorted((tmp_path / "new").rglob("*")):
        if path.is_file():
            name = path.relative_to(tmp_path / "new")
            assert (frozen / name).read_bytes() == path.read_bytes(), f"{name}: {COMMAND}"
    kept = {path.relative_to(frozen) for folder in folders(frozen) for path in (folder, *folder.rglob("*"))}
    assert kept == {p.relative_to(tmp_path / "new") for p in (tmp_path / "new").rglob("*")}


@pytest.mark.cases(0, 0)  # scripts/main-job does it
def test_every_row_is_derived_again(frozen: Path) -> None:
    report = verify(frozen)
    assert report.exit_code == 0, report.faults + report.differences
    assert report.compared == report.rows > 10_000
    assert min(report.by_engine[engine] for engine in ("exact", "numpy", "c_ref")) > 1000
