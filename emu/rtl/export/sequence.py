"""A design of a port map against a golden function over time: from reset, some rows, at any edges that the map allows.

The environment of the map presents rows that are free values, at free edges, between them whatever nobody may look at; it takes the
answers, or makes them wait. All of it is unrolled from a reset over a window of clock edges and decided by abc. Asked is: can an answer
come without a row, or change while it waits? For each row: can its answer differ from the golden function? Can an answer be late?
Nothing is called proven before each row has an answer that the same comparison calls wrong once the lowest bit of a result is turned.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal, NamedTuple

from emu.base.atomic import temporary_folder
from emu.contracts.columns import Layout
from emu.contracts.rows import Input, Row, make_row, value_of
from emu.rtl.export.aig import RIGID, START, Sequential, Unrolled, read, unroll
from emu.rtl.export.equivalence import AIGER, VACUOUS, Verdict, solve
from emu.rtl.export.functions import Golden, Sums
from emu.rtl.export.replay import differ
from emu.rtl.export.sequence_build import SEQUENTIAL, build
from emu.rtl.export.sequence_replay import Stimulus, replay_sequence
from emu.rtl.export.yosys import ABC, find
from emu.rtl.mismatch.golden_rows import mismatch_lines
from emu.rtl.portmap.environment import Environment, environment
from emu.rtl.portmap.file import MapFile, check_columns
from emu.rtl.portmap.model import PortMap
from emu.rtl.portmap.rows import waived_columns
from emu.rtl.simulate.vhdl import as_verilog

Kind = Literal["proven", "counterexample", "silent", "unknown"]
RESET_EDGES: Final = 4  # as in the bench
EDGES: Final = 16
ROWS, ROWS_OF_QUEUES = 2, 4
SPARE: Final = 4  # edges of the window beyond those that rows need
MOST_FOUND: Final = 16  # edges of a latency that is looked for
FLAG: Final = "counterexample"
_BIT: Final = re.compile(r"(.*?)(?:\[(\d+)\])?")


class Scope(NamedTuple):
    """What a proof is about. rows: after the reset.   edges: bound on an answer, or the latency.   window: edges after the reset.

    free_start: registers held anything before the reset.   waived: why rows are left out.   latency: that was found.
    """

    rows: int
    edges: int
    window: int
    free_start: bool
    waived: tuple[str, ...]
    latency: int | None = None

    def data(self) -> dict[str, object]:
        """Return it by name, for JSON."""
        return {**self._asdict(), "waived": list(self.waived)}

    def words(self) -> str:
        """Return it as a line."""
        started = "whatever the registers held before" if self.free_start else "from the registers' initial values"
        found = f"; latency found: {self.latency} clock edges" if self.latency is not None else ""
        left = f"; left out: {', '.join(self.waived)}" if self.waived else ""
        if not self.window:
            return f"nothing was decided{left}"
        rows = f"{self.rows} row{'s' if self.rows > 1 else ''}"
        return f"scope: {rows} in {self.window} clock cycles after a reset, {started}; answers within {self.edges} cycles{found}{left}"


class SequenceProof(NamedTuple):
    """kind: proven, counterexample (fault says which), silent (an answer that does not come), unknown (why).

    rows: golden rows of a counterexample, in the order in which the design took them, the wrong one last.   got: result column -> hex
    text of what the design gave for it in simulation; None: nothing, or nothing was simulated.   simulator: that ran it, or in brackets
    why none did.
    """

    kind: Kind
    scope: Scope
    why: str = ""
    fault: str = ""
    rows: tuple[Row, ...] = ()
    got: dict[str, str] | None = None
    simulator: str = ""


def prove_map(item: Golden, file: MapFile, rows: int | None = None, edges: int | None = None, seconds: float = 120) -> SequenceProof:
    """Compare the design of a port map with a golden function, over time.

    item: the golden function of the map's contract.   rows: how many follow a reset; None: 2, with ready ports 4.   edges: bound on an
    answer where the map has valid ports; None: 16.   seconds: processor time for each question.
    Raises: SpecError (the map does not fit, or says what a proof cannot hold), FileError, ToolError (yosys, ghdl), EngineError (yosys
    refuses the design; a false counterexample).   Tests: tests/rtl/test_rtl_prove_sequence.py.
    """
    find(ABC)
    model = file.map
    _check(file, item)
    with temporary_folder("rtl") as folder:
        sources = as_verilog(file.files, model.module, folder)
        if model.latency != "find":
            return _proved(item, file, model, sources, rows, edges, seconds)
        last: SequenceProof | None = None
        for latency in range(MOST_FOUND + 1):
            one = model.model_copy(update={"latency": latency})
            last = _proved(item, file, one, sources, rows, edges, seconds, replayed=False)
            if last.kind in ("proven", "unknown"):
                return last._replace(scope=last.scope._replace(latency=latency))
    assert last is not None
    why = f"no latency of 0 to {MOST_FOUND} clock edges fits: write the latency into the map, and a counterexample is shown"
    return SequenceProof("unknown", last.scope, why)


def mismatches_of(item: Golden, proof: SequenceProof) -> list[str]:
    """Return the MISMATCH lines of the last row of a counterexample: what emu explain mismatch reads; none of a sum of products."""
    if proof.got is None or proof.kind != "counterexample" or isinstance(item.operation, Sums):
        return []
    row, found = proof.rows[-1], proof.got
    shown = {column.name: found.get(column.name, f"{value_of(item.layout, row, column.name):x}") for column in item.layout.results}
    return mismatch_lines(str(item.operation.name), item.layout, row, shown, differ(item.layout, row, shown))


def layout_of_contract(item: Golden) -> Layout:
    """Return the columns of the contract of a golden function, which may have fewer."""
    found: Layout = getattr(getattr(item.operation, "contract", None), "layout", item.layout)
    return found


def _check(file: MapFile, item: Golden) -> None:
    """Raises: SpecError (the map does not fit the columns; what a proof cannot hold)."""
    model = file.map
    check_columns(file, layout_of_contract(item), item.name.replace("/", "__"))
    if model.clocks:
        raise file.fault(("clocks",), "a proof over time knows one clock: emu rtl run judges designs of several")
    if model.flags is not None:
        raise file.fault(("flags",), "golden functions have no flags: leave them out")
    for number, waiver in enumerate(model.unsupported):
        if waiver.flag is not None:
            raise file.fault(("unsupported", number, "flag"), "a flag is of a suite's rows, and a proof has none: name a class")
        if not waiver.why:
            raise file.fault(("unsupported", number), "a proof leaves rows out for a reason only: say why")
    if all(column.name in model.absent for column in item.layout.results):
        raise file.fault(("missing",), "no result is left to compare")


def _proved(
    item: Golden,
    file: MapFile,
    model: PortMap,
    sources: Sequence[Path],
    rows: int | None,
    edges: int | None,
    seconds: float,
    replayed: bool = True,
) -> SequenceProof:
    """Prove a design of one latency. model: the map with that latency.   sources: the design, Verilog."""
    clocked = model.clock is not None
    rows = (rows or (ROWS_OF_QUEUES if model.ready is not None else ROWS)) if clocked else 1
    bound = model.latency if isinstance(model.latency, int) else (edges or EDGES)
    env = environment(model, item.layout, file.path.name, rows, bound)
    waived = tuple(sorted(set(_reasons(model, item))))
    scope = Scope(rows, bound, 0, model.reset is not None and clocked, waived)
    with temporary_folder("rtl") as work:
        try:
            why = build(item, file, env, sources, work, scope.free_start, seconds)
            if why:
                return SequenceProof("unknown", scope, why)
            question = _Question(read(work / SEQUENTIAL), env, model, work, seconds)
            units = [question.judged(slot) for slot in range(env.units)]
        except TimeoutError as error:
            return SequenceProof("unknown", scope, str(error))
        scope = scope._replace(edges=max(one.edges for one in units), window=max(one.window for one in units))
        for one in units:
            if one.kind in ("counterexample", "silent"):
                return _shown(item, file, env, sources, one, scope) if replayed else SequenceProof("counterexample", scope)
            if one.kind == "unknown":
                return SequenceProof("unknown", scope, one.why)
    return SequenceProof("proven", scope)


def _reasons(model: PortMap, item: Golden) -> Iterator[str]:
    """Yield what is not claimed, in the words of `emu rtl run`."""
    for waiver in model.unsupported:
        columns = [column.name for column in waived_columns(waiver, item.layout)]
        yield f"{(waiver.class_ or '').replace('_', ' ')} in {' or '.join(columns)} ({waiver.why})"
    for name, place in model.ports.items():
        if place.value is not None:
            yield f"{name} other than {place.value}"
        if place.low_bits is not None:
            yield f"{name} of more than {place.low_bits} bits"


class _Found(NamedTuple):
    """A verdict about one unit. edges: the bound that was enough.   window: edges after the reset.   fault: the output that is not 0."""

    kind: Kind
    edges: int
    window: int
    why: str = ""
    fault: str = ""
    stimulus: Stimulus | None = None


@dataclass(frozen=True)
class _Question:
    """A design with its environment as steps, and all that is asked about it."""

    design: Sequential
    env: Environment
    model: PortMap
    work: Path
    seconds: float

    def judged(self, slot: int) -> _Found:
        """Ask about one unit: with the smallest bound, of 2, 4, 8 and so on, within which every answer comes."""
        if self.model.valid is None:
            return self._answered(slot, self.env.edges)
        bound = min(2, self.env.edges)
        while bound < self.env.edges:
            verdict = self._write(slot, bound, self._window(bound))[0]("late")
            if verdict.kind == "unknown":
                return _Found("unknown", bound, self._window(bound), f"late: {verdict.why}")
            if verdict.kind == "proven":
                break
            bound = min(2 * bound, self.env.edges)
        return self._answered(slot, bound)

    def _window(self, bound: int) -> int:
        """Return the edges after the reset that the rows need, and some to spare."""
        if self.model.clock is None:
            return 1
        if self.model.valid is not None or self.model.pipelined == "no":
            return self.env.rows * (bound + self.env.beats_in + self.env.beats_out) + SPARE
        return bound + self.env.rows + SPARE

    def _answered(self, slot: int, bound: int) -> _Found:
        window = self._window(bound)
        asked, whole = self._write(slot, bound, window)
        bads, seen = ([name for name in whole.outputs if name.startswith(word)] for word in ("bad", "seen"))
        assert len(bads) == self.env.rows and len(seen) == self.env.rows * len(self.env.outputs)
        for name in ("broken", *bads, "late"):
            verdict = asked(name)
            if verdict.kind == "unknown":
                return _Found("unknown", bound, window, f"{name}: {verdict.why}")
            if verdict.kind == "counterexample":
                return self._shortest(name, verdict, whole, slot, bound)
        for name in seen:
            verdict = asked(name)
            if verdict.kind != "counterexample":
                return _Found("unknown", bound, window, VACUOUS if verdict.kind == "proven" else verdict.why)
        return _Found("proven", bound, window)

    def _write(self, slot: int, bound: int, window: int) -> tuple[Callable[[str], Verdict], Unrolled]:
        """Write the outputs over a window; return who answers for one of them, and the graph."""
        unrolled = self._unrolled(slot, bound, window)
        names = list(unrolled.outputs)
        unrolled.graph.write(self.work / AIGER, {name: unrolled.some(name) for name in names})
        return lambda name: solve(self.work, self.seconds, names.index(name)), unrolled

    def _unrolled(self, slot: int, bound: int, window: int) -> Unrolled:
        known = {"slot": slot, "limit": bound + self.env.beats_out - 1, "emu_clk": 0}
        resets = self._resets

        def fixed(name: str, edge: int) -> int | None:
            base, bit = _parts(name)
            if base == "rst":
                return int(edge < resets)
            return known[base] >> bit & 1 if base in known else None

        free_start = self.model.reset is not None
        return unroll(self.design, resets + window, fixed, lambda name: re.match(r"row\d+_", name) is not None, free_start)

    @property
    def _resets(self) -> int:
        return 1 if self.model.clock is None else RESET_EDGES

    def _shortest(self, name: str, found: Verdict, whole: Unrolled, slot: int, bound: int) -> _Found:
        """Return the counterexample of the shortest window that has one. found: over the whole window, whose graph is `whole`."""
        low, high = 0, self._window(bound)
        while high - low > 1:
            middle = (low + high) // 2
            whole.graph.write(self.work / AIGER, {name: whole.some(name, self._resets + middle)})
            verdict = solve(self.work, self.seconds, 0)
            if verdict.kind == "counterexample":
                found, high = verdict, middle
            else:
                low = middle
        best = _stimulus(found.model, whole, self._resets, high, slot, bound + self.env.beats_out - 1)
        return _Found("silent" if name == "late" else "counterexample", bound, high, "", name, best)


def _parts(name: str) -> tuple[str, int]:
    found = _BIT.fullmatch(name)
    assert found is not None
    return found[1], int(found[2] or 0)


def _stimulus(model: Mapping[str, int], unrolled: Unrolled, resets: int, edges: int, slot: int, limit: int) -> Stimulus:
    """Return the values of a model by port and edge. edges: so many after the resets; of more the graph may have inputs."""
    rigid: dict[str, int] = {}
    start: dict[str, int] = {}
    steps: list[dict[str, int]] = [{} for _ in range(resets + edges)]
    for number, (name, edge) in unrolled.inputs.items():
        base, bit = _parts(name)
        if edge == START:
            start[name] = model.get(f"v{number}", 0)
        elif base and "$" not in base and edge < resets + edges:
            place = rigid if edge == RIGID else steps[edge]
            place[base] = place.get(base, 0) | model.get(f"v{number}", 0) << bit
    return Stimulus(rigid, start, steps, resets, slot, limit)


def _shown(item: Golden, file: MapFile, env: Environment, sources: Sequence[Path], found: _Found, scope: Scope) -> SequenceProof:
    """Return the proof of a counterexample: its rows by the reference model, replayed."""
    assert found.stimulus is not None
    fixed = file.map.constants
    rows = []
    for number in range(env.rows):
        values = tuple(fixed.get(column.name, found.stimulus.rigid.get(f"row{number}_{column.name}", 0)) for column in item.layout.inputs)
        rows.append(make_row(item.layout, Input("formal", (FLAG,), values), item.operation.exact(values)))
    replayed = replay_sequence(item.layout, rows, file, env, sources, found.stimulus, found.fault)
    return SequenceProof(found.kind, scope, "", replayed.fault, tuple(rows[: replayed.number + 1]), replayed.got, replayed.simulator)
