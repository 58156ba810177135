"""vectors/: the frozen set is complete, small, made of today's facts, and one command makes the same bytes again."""

from pathlib import Path

import pytest

from emu.spec import get, names
from emu.spec.models.levels import DatapathLevels
from emu.vectors import build, compare, find, load, selection, verify
from emu.vectors.files.manifest import BENCH, MANIFEST, OPERATIONS, read_digests, render_manifest
from emu.vectors.files.suite import stem_of
from emu.vectors.suites.frozen import missing

COMMAND = "emu vectors build --out vectors.new"
MOST_BYTES = 6_000_000


@pytest.fixture(scope="module")
def frozen(checkout: Path) -> Path:
    """The folder in git."""
    return checkout / "vectors"


def folders(frozen: Path) -> list[Path]:
    """The folders of operations: all but the benches."""
    found = sorted(path for path in frozen.iterdir() if path.name != BENCH)
    assert {path.name for path in found} <= set(OPERATIONS) and len(found) >= 7
    return found


def stems(frozen: Path) -> set[str]:
    """Every stem that has a file."""
    return {stem for folder in folders(frozen) for path in folder.iterdir() if (stem := stem_of(path.name)) is not None}


def test_files_and_digests_are_the_selection(frozen: Path) -> None:
    chosen = selection()
    assert missing() == []
    assert stems(frozen) == {plan.stem for plan in chosen.shipped}, COMMAND
    digests = {stem for folder in folders(frozen) for stem in read_digests(folder)}
    assert digests == {plan.stem for plan in chosen.digests}, COMMAND


def test_it_is_small(frozen: Path) -> None:
    sizes = [path.stat().st_size for path in frozen.rglob("*") if path.is_file()]
    assert len(sizes) > 500 and sum(sizes) < MOST_BYTES


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
