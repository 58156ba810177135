"""Every bench of the kit in Icarus Verilog: a right design passes, every kind of wrong design fails with its reason."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from emu.base.errors import FileError
from emu.contracts.columns import Column
from emu.rtl.simulate import simulator
from emu.vectors.files.manifest import OPERATIONS

STEMS = {
    "decode": "decode__e5m2_to_fp32__exact__all",
    "convert": "convert__fp32_to_e2m1__nvidia_rne__directed",
    "quantize": "quantize__bf16_to_nvfp4__nvfp4_te_ref__smoke",
    "dequantize": "dequantize__nvfp4_to_fp32__nvfp4_te_ref_te__smoke",
    "transform": "transform__bf16_to_fp32__rht16_te_fp32__smoke",
    "dot": "dot__e2m1xe2m1_ue4m3_to_fp32__blackwell_mxf4nvf4_b16_ue4m3__smoke",
    "accumulate": "accumulate__e2m1xe2m1_ue4m3_to_fp32__blackwell_mxf4nvf4_b16_ue4m3__smoke",
}
AT = {"convert": 26}  # the row of a fault: it and the next have different answers
# fault -> (cycles of latency, exit code, verdict and reason)
FAULTS = {
    "flip": (0, 1, "FAIL", "mismatch"),
    "swap": (1, 1, "FAIL", "mismatch"),
    "late": (2, 1, "FAIL", "mismatch"),  # the answer comes one cycle after its valid
    "x": (0, 4, "FAIL", "x"),
    "z": (3, 4, "FAIL", "x"),
    "silent": (1, 1, "FAIL", "timeout"),
    "stuck": (2, 1, "FAIL", "timeout"),  # its reset never ends
    "drop": (2, 1, "FAIL", "count"),
    "extra": (1, 1, "FAIL", "count"),
    "always": (0, 1, "FAIL", "count"),
    "unreset": (9, 1, "FAIL", "count"),  # rows in flight come out although they were reset
}


@pytest.fixture(scope="module")
def built(frozen: Callable[[str], Path], table: Path, need: Callable[..., None], tmp_path_factory: pytest.TempPathFactory):
    """A function of an operation: its bench with the table design, compiled once."""
    need("iverilog")
    made: dict[str, simulator.Built] = {}

    def get(op: str) -> simulator.Built:
        if op not in made:
            work = tmp_path_factory.mktemp(op)
            made[op] = simulator.compile_bench(simulator.find("icarus"), op, frozen(STEMS[op]), [table], {}, work)
        return made[op]

    return get


def play(bench: simulator.Built, *plusargs: str) -> simulator.Outcome:
    return simulator.run(bench, bench.shard.mem, [f"+table={bench.shard.mem}", *plusargs])


@pytest.mark.parametrize("op", STEMS)
def test_a_right_design_passes(built: Callable[[str], simulator.Built], op: str) -> None:
    bench = built(op)
    judged = simulator.judge(bench, [f"+table={bench.shard.mem}", "+latency=2", "+stall=3"])
    assert (judged.exit_code, judged.self_test.result.mismatch) == (0, 1), judged.why
    (line,) = judged.runs[0].lines
    assert line.startswith(f"RESULT PASS reason=none suite={STEMS[op]} rows_sha256={bench.shard.counts.sha256} compared=")
    assert f"compared={bench.shard.compared(False)} mismatch=0 x=0 " in line


@pytest.mark.cases(16, 17)
@pytest.mark.parametrize("op", STEMS)
@pytest.mark.parametrize("fault", FAULTS)
def test_a_wrong_design_fails_with_its_reason(built: Callable[[str], simulator.Built], op: str, fault: str) -> None:
    latency, code, verdict, reason = FAULTS[fault]
    out = play(built(op), f"+fault={fault}", f"+at={AT.get(op, 1)}", f"+latency={latency}")
    assert out.result is not None, out.other
    assert (out.exit_code, out.result.verdict, out.result.reason) == (code, verdict, reason), out.lines
    assert sum(line.startswith("MISMATCH ") for line in out.lines) == min(3, out.result.mismatch + out.result.x)


def test_the_line_of_a_mismatch_names_row_column_and_bits(built: Callable[[str], simulator.Built]) -> None:
    bench = built("quantize")
    out = play(bench, "+fault=flip", "+at=1")
    row = bench.shard.mem.read_text().splitlines()[1].split(" ")[0].split("_")
    x, ts, n_valid, scale = row[1], row[2], row[3], row[5]  # the lowest bit of all outputs is one of the scale
    got = f"{int(scale, 16) ^ 1:02x}"
    assert out.lines[0] == f"MISMATCH suite={STEMS['quantize']} tc=2 out=scale in={x},{ts},{n_valid} want={scale} got={got} mask=ff"
    assert len(out.lines) == 2


@pytest.mark.parametrize("fault", ["x", "z"])
def test_unknown_bits_are_shown_and_counted_apart(built: Callable[[str], simulator.Built], fault: str) -> None:
    out = play(built("convert"), f"+fault={fault}", "+at=40", "+latency=1")
    assert (out.result.mismatch, out.result.x) == (0, 1)
    assert out.lines[0].split(" got=")[1][0] in "xX"


def test_an_unknown_valid_is_no_answer(built: Callable[[str], simulator.Built]) -> None:
    out = play(built("convert"), "+fault=xvalid", "+at=400")
    assert out.result.verdict == "FAIL"
    assert out.result.x >= 1


def test_a_design_that_stops_in_the_middle_times_out(built: Callable[[str], simulator.Built]) -> None:
    out = play(built("convert"), "+fault=hang", "+at=20", "+watchdog=50")
    assert (out.exit_code, out.result.reason, out.result.compared) == (1, "timeout", 21)


def test_a_slow_design_needs_a_longer_watchdog(built: Callable[[str], simulator.Built]) -> None:
    assert play(built("convert"), "+latency=15", "+watchdog=10").result.reason == "timeout"
    assert play(built("convert"), "+latency=15", "+watchdog=20").exit_code == 0


def test_what_the_mask_leaves_out_is_not_looked_at(built: Callable[[str], simulator.Built]) -> None:
    bench = built("quantize")
    assert "_00000000000000ff_" not in bench.shard.mem.read_text()
    assert all(play(built(op), "+fault=masked").exit_code == 0 for op in STEMS)


@pytest.mark.parametrize(("fault", "code"), [("payload", 0), ("infinity", 1), ("xnan", 4)])
def test_a_nan_of_any_payload(built: Callable[[str], simulator.Built], fault: str, code: int) -> None:
    """Row 127 of decode is NaN: sign and payload are free, infinity is not NaN, and X in a NaN is X."""
    bench = built("decode")
    rows = bench.shard.mem.read_text().splitlines()
    (place,) = (place for place, row in enumerate(rows) if row.split(" ")[0].endswith("_1") and "_7f_" in row)
    out = play(bench, f"+fault={fault}", f"+at={place}")
    assert out.exit_code == code, out.lines


def test_the_nan_of_every_lane_is_looked_at(handmade: Callable[..., Path], table: Path, need: Callable[..., None], tmp_path: Path) -> None:
    need("iverilog")
    columns = [Column("x", "in", 32), Column("y", "out", 32, "bf16", lanes=2, any_nan=True)]
    cases = [((place,), ((code, 0x7FC0 if place == 1 else code),)) for place, code in enumerate((0x3F80, 0x4000, 0x7FC0, 0xFF80))]
    path = handmade("transform__bf16_to_bf16__rht16_te__smoke", columns, cases)
    bench = simulator.compile_bench(simulator.find("icarus"), "transform", path, [table], {}, tmp_path / "work")
    assert bench.shard.mem.read_text().splitlines()[1].split(" ")[0].endswith("_7fc04000_ffffffff_10")
    for fault, at, code in (("payload", 0, 0), ("infinity", 1, 1), ("infinity", 2, 1), ("xnan", 2, 4), ("infinity", 0, 0)):
        assert play(bench, f"+fault={fault}", f"+at={at}").exit_code == code


def test_random_gaps_change_nothing_but_time(built: Callable[[str], simulator.Built]) -> None:
    lines = {play(built("convert"), f"+stall={seed}", "+latency=3").lines for seed in range(1, 9)}
    assert lines == {play(built("convert")).lines}


def test_rows_are_printed_on_request(built: Callable[[str], simulator.Built]) -> None:
    bench = built("convert")
    out = play(bench, "+rows", "+latency=1")
    golden = [line.split(" ")[0].split("_") for line in bench.shard.mem.read_text().splitlines()[:-1]]
    want = [f"ROW suite={STEMS['convert']} tc={tc} in={row[1]} got={row[2]}" for tc, row in enumerate(golden, 1) if row[3] != "0"]
    assert [line for line in out.lines if line.startswith("ROW ")] == want


def test_the_next_row_waits_on_request(built: Callable[[str], simulator.Built]) -> None:
    assert play(built("convert"), "+serial", "+latency=7", "+stall=2").exit_code == 0


@pytest.mark.parametrize("rows", [1, 2, 3])
def test_few_rows(handmade: Callable[..., Path], table: Path, need: Callable[..., None], tmp_path: Path, rows: int) -> None:
    need("iverilog")
    columns = [Column("row", "in", 16), Column("idx", "in", 16), Column("off", "out", 16)]
    path = handmade("layout__nvfp4_to_sf128x4__sf128x4__smoke", columns, [((row, 7), ((row * 9,),)) for row in range(rows)])
    bench = simulator.compile_bench(simulator.find("icarus"), "layout", path, [table], {}, tmp_path / "work")
    for latency in (0, 1, 5):
        judged = simulator.judge(bench, [f"+table={bench.shard.mem}", f"+latency={latency}"])
        assert (judged.exit_code, judged.runs[0].result.compared) == (0, rows)
    assert play(bench, "+fault=flip").exit_code == 1


def test_open_rows_and_unused_operands(handmade: Callable[..., Path], table: Path, need: Callable[..., None], tmp_path: Path) -> None:
    """insn with random bits and flags; an open row first: it is sent, counted apart, and the self-test flips the next."""
    need("iverilog")
    columns = [Column("a", "in", 32), Column("rbits", "r", 32), Column("d", "out", 8), Column("fl", "out", 5)]
    cases = [((1, 2), ((-1,), (-1,))), ((3, 4), ((5,), (-1,))), ((6, 7), ((8,), (1,)))]
    path = handmade("insn__fp32_to_e2m1__cvt_rn__smoke", columns, cases)
    bench = simulator.compile_bench(simulator.find("icarus"), "insn", path, [table], {}, tmp_path / "work")
    judged = simulator.judge(bench, [f"+table={bench.shard.mem}"])
    result = judged.runs[0].result
    assert (judged.exit_code, result.compared, result.masked) == (0, 2, 1)
    assert "tc=2 out=d in=00000003,00000004 want=04 got=05 mask=ff" in judged.self_test.lines[0]


def test_every_operation_has_a_bench_that_refuses_the_others(
    need: Callable[..., None], frozen: Callable[[str], Path], table: Path, tmp_path: Path
) -> None:
    need("iverilog")
    assert all(simulator.bench(op).is_file() for op in OPERATIONS)
    with pytest.raises(FileError, match="a suite of decode, not of convert"):
        simulator.compile_bench(simulator.find("icarus"), "convert", frozen(STEMS["decode"]), [table], {}, tmp_path)
    with pytest.raises(FileError, match="no operation"):
        simulator.bench("multiply")
