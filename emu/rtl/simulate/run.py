"""emu rtl run: the bench kit on the design of a port map: every suite, self-test, gaps, resets, every unit, two orders; and the verdict.

Not here: the suites that a map leaves rows out of (portmap_rows), simulators (simulator), why a row differs (explain_mismatch).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple

from emu.base.errors import FileError, ToolError
from emu.contracts.columns import Layout
from emu.contracts.rows import Row, is_open, value_of
from emu.rtl.portmap.file import MapFile, check_columns
from emu.rtl.portmap.model import PortMap
from emu.rtl.portmap.rows import Derived, derive_suite, write_derived
from emu.rtl.portmap.suite import plans_for, stored
from emu.rtl.portmap.wrapper import wrapper_text
from emu.rtl.simulate.outcome import DIFFERS, FINE, MISUSE, NOTHING, Outcome, parse_result, strongest
from emu.rtl.simulate.simulator import Built, Judgement, Simulator, compile_bench, judge, run, seeding
from emu.rtl.simulate.units import built
from emu.rtl.simulate.vhdl import as_verilog
from emu.vectors.files.suite import Suite
from emu.vectors.files.write import write_text
from emu.vectors.suites.plan import SuitePlan

Step = Callable[[str], None]
SEEDS = tuple(range(1, 9))  # Verilator starts unwritten bits from each
WIDTH = re.compile(r"PORTMAP width port=(?P<port>\S+) design=(?P<design>\d+) map=(?P<map>\d+)")
ROW = re.compile(r"ROW suite=\S+ tc=\d+ in=\S* got=\S*")  # as the bench prints them: a design may print others
PROTOCOL = "PORTMAP protocol "
MOST_EDGES = 64  # clock edges of a latency that is looked for


class Pass(NamedTuple):
    """One way to run a suite.

    mode: plain, stall (random gaps), press (answers wait at random), slot<k> (the first row goes to unit k), reordered (in another order).
    vec: the rows in that order; None: the suite.   tests: of each place in it, the number of its row in the suite.
    """

    mode: str
    plusargs: tuple[str, ...]
    seeds: tuple[int, ...]
    vec: Path | None = None
    tests: tuple[int, ...] = ()

    def named(self, lines: Sequence[str]) -> list[str]:
        """Return lines of the bench with the numbers that rows have in the suite."""
        if not self.tests:
            return list(lines)
        first = min(self.tests)
        return [re.sub(r"\btc=(\d+)", lambda found: f"tc={self.tests[int(found[1]) - first]}", line) for line in lines]


@dataclass
class SuiteRun:
    """One shard in one simulator. compared, mismatch, x, masked: of the run that decided.   hint: what may be wrong, or nothing.
    latency: clock edges that were found, where the map says find."""

    suite: str
    simulator: str
    derived: Derived
    latency: int | None = None
    exit_code: int = MISUSE
    why: str = ""
    hint: str = ""
    modes: list[str] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Report:
    """What a run found. allow_partial: rows that the design does not claim need no reason; columns and flags do all the same."""

    map: MapFile
    contract: str
    runs: tuple[SuiteRun, ...]
    allow_partial: bool

    def is_partial(self, run: SuiteRun) -> bool:
        """Tell whether a suite passed, but without rows, columns or flags that no waiver gives a reason for."""
        unclaimed = run.derived.unwaived and not self.allow_partial
        return run.exit_code == FINE and bool(unclaimed or run.derived.without_reason)

    @property
    def left_out(self) -> dict[str, str]:
        """Output columns and flags of the contract that no suite compares -> the map's reason, or nothing."""
        return dict(self.runs[0].derived.left_out) if self.runs else {}

    @property
    def exit_code(self) -> int:
        """0 only when every suite passed whole in every way and simulator; a partial one counts as 1; else the strongest of 2 1 4 3."""
        return strongest(DIFFERS if self.is_partial(item) else item.exit_code for item in self.runs)


def passes(file: MapFile, seed: int) -> list[Pass]:
    """Return the ways in which every suite runs. seed: of the gaps."""
    model = file.map
    wanted = {"+serial": model.pipelined == "no", "+chain=dut": model.chain == "dut"}
    slowest = model.latency if isinstance(model.latency, int) else 0
    common = (f"+watchdog={max(model.watchdog, 2 * slowest)}", *(name for name, on in wanted.items() if on))
    out = [Pass("plain", common, SEEDS)]
    out += [Pass(f"slot{slot}", (*common, f"+slot={slot}"), SEEDS[:1]) for slot in range(1, model.rows_per_beat)]
    if model.presses:
        out.append(Pass("press", (*common, f"+press={seed}"), SEEDS[:1]))
    return [*out, Pass("stall", (*common, f"+stall={seed}", *((f"+press={seed + 1}",) if model.presses else ())), SEEDS[:1])]


def run_map(
    file: MapFile,
    plans: Sequence[SuitePlan],
    simulators: Sequence[Simulator],
    work: Path,
    vectors: Path | None = None,
    seed: int = 1,
    rows: bool = False,
    step: Step = lambda _: None,
    allow_partial: bool = False,
) -> Report:
    """Judge a design on suites.

    plans: suites of one operation.   simulators: those that are there.   work: an existing folder for suites, wrapper and compiled benches.
    vectors: folder of golden vectors; None: suites are built.   rows: keep a ROW line of every row of a suite that fails.
    step: told what goes on.   allow_partial: rows left out need no reason.
    Raises: FileError (vectors), SpecError (the map does not fit the suites; a waiver that matches no row of those that the map names),
    EngineError; what a design does wrong is in the report.
    Tests: tests/rtl/test_rtl_run.py.
    """
    model = file.map
    runs: list[SuiteRun] = []
    found: list[Derived] = []
    for plan in plans:
        step(f"{plan.stem}: rows")
        suite = replace(built(plan, work) if vectors is None else stored(plan, vectors), layout=plan.operation.layout)
        check_columns(file, suite.layout, suite.stem)
        found.append(derive_suite(model, plan, suite))
    _check_waivers(file, plans, found)
    sources = as_verilog(file.files, model.module, work)
    for number, (plan, derived) in enumerate(zip(plans, found, strict=True)):
        suite = derived.suite
        wrapper = work / f"wrapper{number}.sv"
        write_text(wrapper, wrapper_text(model, suite.layout, file.path.name, str(plan.operation.name)))
        compares = any(not is_open(suite.layout, row) for row in suite.rows)
        names = write_derived(derived.suite, work / "suites") if compares else [plan.stem]
        for simulator in simulators:
            for name in names:
                step(f"{name}: {simulator.name}")
                entry = SuiteRun(name, simulator.name, derived)
                runs.append(entry)
                if not compares:
                    entry.exit_code, entry.why = NOTHING, "the port map leaves no row of this suite to compare"
                    continue
                _run_one(entry, file, derived, simulator, (wrapper, work, *sources), seed, rows)
    _compare_latencies(runs)
    return Report(file, str(plans[0].operation.name), tuple(runs), allow_partial)


def _compare_latencies(runs: Sequence[SuiteRun]) -> None:
    """A latency that was found must be the same in every suite and simulator: else the first one that has another fails."""
    known = next((item.latency for item in runs if item.latency is not None and item.exit_code == FINE), None)
    for item in runs:
        if item.latency not in (None, known) and item.exit_code == FINE:
            item.exit_code, item.why = DIFFERS, f"latency {item.latency} here, {known} in another suite: it must be fixed"


def _check_waivers(file: MapFile, plans: Sequence[SuitePlan], found: Sequence[Derived]) -> None:
    """Refuse a waiver that matches no row of the suites that the map names: it hides nothing today, and may hide a fault tomorrow."""
    if [plan.stem for plan in plans] != [plan.stem for plan in plans_for(file.map)]:
        return
    used = {number for derived in found for number in derived.waivers}
    for number in range(len(file.map.unsupported)):
        if number not in used:
            raise file.fault(("unsupported", number), f"matches no row of {', '.join(plan.suite for plan in plans)}: remove it")


def _run_one(
    entry: SuiteRun, file: MapFile, derived: Derived, simulator: Simulator, places: tuple[Path, ...], seed: int, rows: bool
) -> None:
    """Compile and run one shard in every way until one fails; fill the entry. places: wrapper, work folder, files of the design."""
    model, (wrapper, work, *sources) = file.map, places
    stages = any(column.role == "stage" and column.name in model.ports for column in derived.suite.layout.results)
    folder = work / f"{simulator.name}-{entry.suite}"
    defines = {item.name: item.value for item in model.defines}
    op, path = derived.suite.stem.partition("__")[0], work / "suites" / entry.suite
    try:
        bench = compile_bench(simulator, op, path, [*sources, wrapper], defines, folder, stages, file.includes)
    except FileError as error:
        entry.exit_code, entry.why = MISUSE, str(error)
        return
    extra: tuple[str, ...] = ()
    ways = passes(file, seed)
    if model.latency == "find":
        entry.latency, entry.hint = find_latency(bench, ways[0])
        extra = (f"+latency={entry.latency}",)
    ways += reordered(bench, derived.suite.layout, ways[0], model.rows_per_beat)
    for way in (way._replace(plusargs=(*way.plusargs, *extra)) for way in ways):
        found = judge(bench, way.plusargs, way.seeds, vec=way.vec)
        entry.modes.append(way.mode)
        _note(entry, found, way, model.rows_per_beat)
        if entry.exit_code != FINE:
            _explain_failure(entry, bench, way, (file, derived), rows)
            break
    if rows:
        hidden = [f"LEFTOUT suite={entry.suite} out={name} mask={bits:x}" for name, bits in derived.missing.items()]
        entry.lines = [*hidden, *entry.lines]


def _note(entry: SuiteRun, found: Judgement, way: Pass, units: int) -> None:
    """Keep what one way of running found. The reset of the self-test comes after other rows, so units meet other rows there: that more than
    the flipped bit differs is then the design's fault."""
    decided = next((item for item in found.runs if item.exit_code != FINE), found.runs[0])
    test = found.self_test.result
    if found.exit_code == MISUSE and decided.exit_code == FINE and units > 1 and test is not None and test.mismatch + test.x > 1:
        found, decided = found._replace(exit_code=DIFFERS, why=f"self-test rows: {found.self_test.why}"), found.self_test
    entry.exit_code, entry.why = found.exit_code, found.why if way.mode == "plain" else f"{found.why} ({way.mode})"
    if entry.exit_code != FINE or way.mode == "plain":
        entry.lines = way.named(decided.lines)
        if decided.result is not None:
            entry.counts = {name: getattr(decided.result, name) for name in ("compared", "mismatch", "x", "masked")}
    said = {line.partition(" ")[2].partition(" ")[0]: line for line in reversed(decided.other.splitlines()) if line.startswith("PORTMAP ")}
    if "width" in said:
        entry.exit_code, entry.why = MISUSE, _width_words(said["width"])
    elif "protocol" in said:
        entry.why = f"{said['protocol'].removeprefix(PROTOCOL)} ({way.mode})"


def _width_words(line: str) -> str:
    found = WIDTH.fullmatch(line)
    if found is None:
        return f"the design prints a line that is kept for the wrapper: {line}"
    more, hint = int(found["design"]) - int(found["map"]), ""
    if more >= 0:
        hint = ": of an output whose upper bits mean nothing, name the port in `wider`" if more else ": remove it from `wider`"
    return f"port {found['port']} of the design has {found['design']} bits, the port map says {found['map']}{hint}"


def _explain_failure(entry: SuiteRun, bench: Built, way: Pass, made: tuple[MapFile, Derived], rows: bool) -> None:
    """Say what may be wrong: the latency, a reset, a missing answer; keep ROW lines where they are wanted."""
    file, derived = made
    reason = next((found.reason for found in map(parse_result, entry.lines) if found is not None), "")
    if reason == "timeout":
        entry.hint = "the design never answers: are clock, reset (active high or low) and valid ports those of the port map?"
    elif reason == "count":
        entry.hint = "rows got lost or came twice: does the design take one row each clock (pipelined, ready), and does reset empty it?"
    elif reason not in ("mismatch", "x"):
        return
    if way.vec is not None and not entry.hint:
        entry.hint = "every row is right in the order of the suite: the design keeps something of the row before, as a latch does"
    again = run(bench, way.vec or bench.shard.mem, [*way.plusargs, "+rows", *seeding(bench, way.seeds[0])])
    listed = way.named([line for line in again.lines if ROW.fullmatch(line)])
    if rows:
        results = [line for line in entry.lines if line.startswith("RESULT ")]
        state = f"DESIGN state={'no' if file.map.clock is None else 'yes'}"
        entry.lines = [state, *(line for line in entry.lines if line not in results), *listed, *results]
    if file.map.clock is not None and isinstance(file.map.latency, int) and way.mode not in ("stall", "reordered") and not entry.hint:
        entry.hint = latency_hint(file.map, derived.suite, listed, int(way.mode.removeprefix("slot") or 0) if "slot" in way.mode else 0)


def reordered(bench: Built, layout: Layout, plain: Pass, units: int) -> list[Pass]:
    """Return the way in which a unit gets no row with the outputs of the row before, as far as there are others; none of a chain.

    Rows are sorted by their outputs, and lots of one row a unit taken from the lower and the upper half in turn.
    """
    if any(column.name in ("first", "last") for column in layout.inputs):
        return []
    lines = bench.shard.mem.read_text(encoding="ascii").splitlines()
    rows = [line for line in lines if line.startswith("a_")]
    outputs = [place for place, column in enumerate(layout.columns, 1) if column.role == "out"]
    order = sorted(range(len(rows)), key=lambda row: [rows[row].partition(" ")[0].split("_")[place] for place in outputs])
    low, high = order[: -(-len(rows) // 2)], order[-(-len(rows) // 2) :]
    order = [row for at in range(0, len(low), units) for row in (*low[at : at + units], *high[at : at + units])]
    vec = bench.work / f"{bench.shard.name}.reordered.mem"
    end = [line for line in lines if not line.startswith("a_")]
    write_text(vec, "".join(f"{line}\n" for line in [*(rows[row] for row in order), *end]))
    tests = tuple(int(rows[row].partition("tc=")[2].split()[0]) for row in order)
    return [Pass("reordered", plain.plusargs, SEEDS[:1], vec, tests)]


def find_latency(bench: Built, way: Pass) -> tuple[int, str]:
    """Return the fewest clock edges from inputs to outputs with which every row passes; else those with fewest rows wrong, and a hint.

    bench: compiled with a wrapper that takes +latency.   way: how the rows run.   Latencies up to MOST_EDGES are tried.
    """
    best, wrong = 0, None
    for edges in range(MOST_EDGES + 1):
        found = run(bench, bench.shard.mem, [*way.plusargs, f"+latency={edges}", *seeding(bench, way.seeds[0])])
        if found.exit_code == FINE:
            return edges, ""
        count = found.result.mismatch + found.result.x if found.result is not None else None
        if count is not None and (wrong is None or count < wrong):
            best, wrong = edges, count
    return (
        best,
        f"no latency up to {MOST_EDGES} fits all rows, {best} fits most: results are wrong, or the latency is not always the same",
    )


# A wrong latency in a port map, told from its outputs: they are the expected ones of a neighbouring row.


FARTHEST = 16
LEAST = 8  # rows whose outputs tell two latencies apart
SHARE = (19, 20)  # of them must fit


def latency_hint(model: PortMap, suite: Suite, lines: Sequence[str], first_slot: int = 0) -> str:
    """Return "outputs fit latency <n>: ..." when the outputs are those of another row throughout; else nothing.

    suite: as the bench saw it.   lines: its ROW lines of a run without gaps.   first_slot: the unit of the first row.
    Only rows before the second reset count: after it the order of units starts again.
    """
    assert isinstance(model.latency, int)
    found = {int(line.split(" tc=")[1].split()[0]) - 1: line.rpartition("got=")[2] for line in lines}
    names = [column.name for column in suite.layout.results if column.role == "out"]
    wants = [_want(suite, row, names) for row in suite.rows]
    end = (len(wants) + 1) // 2 - model.latency - 1
    units = model.rows_per_beat
    best: tuple[int, int, int] | None = None
    for off in (delay * sign for delay in range(1, FARTHEST + 1) for sign in (1, -1)):
        if model.latency + off < 0:
            continue
        hits = tells = 0
        for place in range(FARTHEST + 1, max(end, FARTHEST + 1)):
            given = place - off
            row = given if (given + first_slot) % units == (place + first_slot) % units else given - units
            if place in found and 0 <= row < len(wants) and wants[row] is not None and wants[row] != wants[place]:
                tells += 1
                hits += wants[row] == found[place]
        if tells >= LEAST and hits * SHARE[1] >= tells * SHARE[0] and (best is None or hits > best[1]):
            best = (off, hits, tells)
    if best is None:
        return ""
    return f"outputs fit latency {model.latency + best[0]}: {best[1]} of {best[2]} rows that tell it apart from {model.latency}"


def _want(suite: Suite, row: Row, names: Sequence[str]) -> str | None:
    """Return the outputs of a row as the bench prints them; None where some bit is not compared."""
    layout = suite.layout
    columns = [layout.columns[layout.index(name)] for name in names]
    if any(value_of(layout, row, f"m_{column.name}") != (1 << column.bits) - 1 for column in columns):
        return None
    return ",".join(f"{value_of(layout, row, column.name):0{column.digits}x}" for column in columns)


__all__ = ["DIFFERS", "Outcome", "Pass", "Report", "SuiteRun", "ToolError", "passes", "run_map"]
