"""identify how a kernel multiplies two quantized matrices: candidates are tried on some operands, and named when others confirm them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np

from emu.base.errors import OperandError
from emu.check.matmul.epilogue import programs, sees_stored, to_result
from emu.check.matmul.numbers import Draws
from emu.check.matmul.pair import Pair, pair_of
from emu.check.matmul.question import taken
from emu.check.matmul.run import checked_shapes
from emu.identify.matmul import reveal
from emu.identify.matmul.machines import Candidate, Exact, Floating, check_kinds, floating, machines, registers
from emu.identify.matmul.questions import FIRST, KINDS, Question, drawn, scaled
from emu.identify.matmul.sums import Accumulator
from emu.identify.model import Axis, Departure, Identity

UNIT: Final = 64
REPLAYS: Final = 2  # rounds of new operands of every kind that confirm
TITLED: Final = 3  # candidates that a title names
START: Final = "the sum starts at C"
END: Final = "C is added to the finished sum"
UNKNOWN: Final = "unknown"


def identify_matmul(
    target: Any, contract: str | None = None, shapes: Iterable[tuple[int, int, int]] | None = None, key: int = 1, **adapter: Any
) -> Identity:
    """Return how a kernel adds: the order along K, the accumulator, where C, alpha, beta and the tensor scales enter.

    target: a function by the names of emu.check.matmul.target, or such a target.   contract: matmul/A/B/OUT.   shapes: M, N, K each; K of
    several lengths tell more.   key: draws other operands.   adapter: takes, packing, scale_layout, device, of a function.
    Every candidate must give all outputs of operands that did not choose it, bit for bit, at every shape. Several that do are all named;
    where none does, the answer is unknown. Exactness: a name says that nothing asked tells the kernel from it, no more.
    Raises: SpecError (contract), OperandError (shapes; values too long), TargetError (the kernel fails where it must answer).
    Tests: tests/identify/matmul.
    """
    if not hasattr(target, "op"):
        from emu.check.matmul.target import python_gemm

        if contract is None:
            raise OperandError("identify: a product needs its contract: matmul/A/B/OUT")
        target = python_gemm(target, contract, **adapter)
    pair = pair_of(contract) if contract is not None else target.pair
    check_kinds(pair)
    unit = int(np.lcm(pair.step, UNIT))
    chosen = checked_shapes(shapes, pair) if shapes is not None else [(17, 19, 4 * unit), (9, 18, 6 * unit), (6, 7, 9 * unit)]
    return Search(target, pair, chosen, key).run()


@dataclass
class Found:
    """What is known of a kernel at one shape. left: candidates that gave every output.   first: those before the replay."""

    shape: tuple[int, int, int]
    left: dict[str, Candidate] = field(default_factory=dict)
    first: dict[str, Candidate] = field(default_factory=dict)
    departure: Departure | None = None


class Search:
    """One identification on its way."""

    def __init__(self, target: Any, pair: Pair, shapes: Sequence[tuple[int, int, int]], key: int) -> None:
        self.target, self.pair, self.shapes = target, pair, list(shapes)
        self.wants: tuple[str, ...] = tuple(getattr(target, "wants", ("a", "b")))
        self.draws, self.replays = Draws(key, f"identify {pair.text}"), Draws(key, f"identify again {pair.text}")
        self.asked = 0
        self.axes: list[Axis] = []
        self.machines = list(machines(pair))

    def run(self) -> Identity:
        """Run the stages."""
        if self.unstable():
            return self.report([], "unknown: asked twice, it gives different results", None)
        known = self.width()
        shapes = [self.at(shape, known) for shape in self.shapes]
        self.observe()
        names = [name for name in shapes[0].left if all(name in found.left for found in shapes[1:])]
        left = [shapes[0].left[name] for name in names]
        if not left:
            for found in shapes:
                said = _listed([item.name for item in found.left.values()]) if found.left else UNKNOWN
                self.axes.append(Axis("replay", "M, N, K = {}, {}, {}".format(*found.shape), said))
            departure = next((found.departure for found in shapes if found.departure is not None), None)
            apart = all(found.left for found in shapes)
            return self.report([], "unknown: no order fits every shape" if apart else "unknown: no candidate gives every output", departure)
        enter = self.enters(left)
        self.facts([item for item, _ in enter] if enter else left)
        if enter is None:
            return self.report(left, self.title(left), None)
        if not enter:
            return self.report(left, f"unknown: the sums are {self.title(left)}; where C and the scales enter is unknown", None)
        kept = list(dict.fromkeys(item for item, _ in enter))
        return self.report(kept, self.title(kept), None)

    def question(self, shape: tuple[int, int, int], kind: str, draws: Draws) -> Question | None:
        """Ask one question; None where a format has no such operands. Raises: TargetError."""
        try:
            question = drawn(self.pair, shape, kind, draws)
        except OperandError:
            return None
        return self.ask(question)

    def ask(self, question: Question) -> Question:
        """Ask, and count. Raises: TargetError."""
        question.ask(self.target, self.wants)
        self.asked += question.got.size
        return question

    def encode(self, values: Any) -> Any:
        """Return sums as codes of the result, through binary32."""
        with np.errstate(over="ignore"):
            return to_result(np.asarray(values).astype(np.float32), self.pair.out)

    def unstable(self) -> bool:
        """Ask the same twice."""
        question = drawn(self.pair, self.shapes[0], "wide", self.draws)
        first = self.ask(question).got
        return not np.array_equal(first, self.ask(question).got)

    def width(self) -> list[Accumulator]:
        """Return the accumulators that agree with sums of two terms, and say what was seen."""
        found = [item for shape in self.shapes * 2 for item in [self.question(shape, "pairs", self.draws)] if item is not None]
        kept = [set(registers(item, self.encode)) for item in found]
        known = sorted(set.intersection(*kept), key=lambda item: (-item.bits, item.cut)) if kept else []
        self.axes.append(Axis("observed", "sums of two terms", _listed([item.text for item in known]) if known else UNKNOWN))
        return known

    def observe(self) -> None:
        """Say which blocks meet when."""
        for shape in self.shapes[:1]:
            counts = reveal.survivors(self.target, self.pair, shape, self.wants)
            self.axes.append(Axis("observed", "blocks that cancel", UNKNOWN if counts is None else reveal.words(counts)))

    def at(self, shape: tuple[int, int, int], known: list[Accumulator]) -> Found:
        """Return what fits at one shape."""
        found = Found(shape)
        asked = [item for kind in KINDS for item in [self.question(shape, kind, self.draws)] if item is not None]
        tried: list[Candidate] = [*self.machines, *floating(shape[2], known)]
        for number, question in enumerate(asked):
            part = question.part(FIRST)
            tried = [item for item in tried if self.gives(item, part)]
            tried = [item for item in tried if self.gives(item, question)]
            if number == 0 and not tried:
                break
        found.first = {item.name: item for item in tried}
        found.left = dict(found.first)
        for kind in list(KINDS) * REPLAYS if tried else ():
            again = self.question(shape, kind, self.replays)
            if again is None:
                continue
            kept = {name: item for name, item in found.left.items() if self.gives(item, again)}
            if not kept and found.left and found.departure is None:
                found.departure = self.departure(next(iter(found.left.values())), again)
            found.left = kept
        return found

    def gives(self, item: Candidate, question: Question) -> bool:
        """Tell whether a candidate gives every compared output."""
        values = item.run(question)
        return values is not None and question.same(self.encode(values))

    def departure(self, item: Candidate, question: Question) -> Departure:
        """Return the first output where a candidate departs."""
        mine = self.encode(item.run(question)).reshape(question.got.shape)
        i, j = np.argwhere(mine != question.got)[0].tolist()
        row, column = int(question.rows[i]), int(question.columns[j])
        shape = f"M, N, K = {len(question.a)}, {len(question.b)}, {question.k}"
        return Departure(
            {"operands": shape}, f"d[{row}, {column}] of {item.name}", f"{int(mine[i, j]):#x}", f"{int(question.got[i, j]):#x}"
        )

    def enters(self, left: list[Candidate]) -> list[tuple[Candidate, str]] | None:
        """Return candidates with the way in which C, alpha, beta and tensor scales enter; None where the kernel takes none of them."""
        scalars = tuple(taken(self.pair, self.wants))
        if not scalars and "c" not in self.wants:
            return None
        ways = [(item, name, run) for item in left for name, run in self.ways(item, scalars)]
        for turn in range(1 + REPLAYS):
            for shape in self.shapes:
                for kind in ("random", "wide"):
                    plain = drawn(self.pair, shape, kind, self.replays if turn else self.draws)
                    question = self.ask(scaled(plain, self.wants, self.replays, scalars=True, c=True))
                    ways = [way for way in ways if self.enters_as(way[2], question)]
        names = list(dict.fromkeys(name for _, name, _ in ways))
        what = ", ".join(
            [
                *({"ta": "tensor scale of a", "tb": "tensor scale of b"}.get(name, name) for name in scalars),
                *(["C"] if "c" in self.wants else []),
            ]
        )
        self.axes.append(Axis("replay", f"where {what} enter", _listed(names) if names else UNKNOWN))
        return [(item, name) for item, name, _ in ways]

    def enters_as(self, run: Callable[[Question], Any], question: Question) -> bool:
        """Tell whether a way gives every compared output."""
        with np.errstate(over="ignore", invalid="ignore"):
            values = run(question)
        return values is not None and question.same(to_result(np.asarray(values, np.float32), self.pair.out))

    def ways(self, item: Candidate, scalars: tuple[str, ...]) -> list[tuple[str, Callable[[Question], Any]]]:
        """Return names and programs of where C and the scales may enter, for one candidate."""
        beta, c = "beta" in scalars, "c" in self.wants
        factors = tuple(name for name in scalars if name != "beta")
        sides = tuple(name for name in factors if name != "alpha")
        single = "" if factors or beta else END

        def after(run: Callable[[Any], Any]) -> Callable[[Question], Any]:
            def way(question: Question) -> Any:
                found = item.run(question)
                return None if found is None else run(self.values(question, found))

            return way

        def first(run: Callable[[Any], Any]) -> Callable[[Question], Any]:
            def way(question: Question) -> Any:
                values = self.values(question, 0)
                addend = np.float32(values["beta"]) * values["C"] if beta else values["C"]
                found = item.run(question, np.asarray(addend, np.float32).astype(np.float64))
                return None if found is None else run(values | {"S": found.astype(np.float32)})

            return way

        seen = sees_stored(self.pair, self.wants)
        out = [(single or f"S is the sum: {way.name}", after(way.run)) for way in programs(factors, beta, c, seen)]
        if c:
            times = f"{START}, times beta" if beta else START
            out += [(times if not factors else f"{times}; then {way.name}", first(way.run)) for way in programs(factors, False, False)]
        if sides and isinstance(item, Exact | Floating):
            for way in programs(("alpha",) if "alpha" in factors else (), beta, c):
                for fused in (True, False):
                    said = "fma" if fused else "products rounded first"
                    out.append(
                        (f"operands are dequantized to binary32 before the sum ({said}): {way.name}", self.before(item, way.run, fused))
                    )
        return out

    def before(self, item: Candidate, run: Callable[[Any], Any], fused: bool) -> Callable[[Question], Any]:
        """Return the program whose operands are multiplied by the tensor scales before the sum."""

        def way(question: Question) -> Any:
            sides = zip("ab", (self.pair.a, self.pair.b), question.sides(), strict=True)
            x, y = (
                side.quantized(codes, scales, question.levels.get(name, 0)).dequantize("float32").astype(np.float64)
                for name, side, (codes, scales) in sides
            )
            products = (x[:, None] * y[None]).reshape(-1, question.k)
            terms = type(question.terms())(products if fused else products.astype(np.float32))
            one = Question(self.pair, question.a, question.sa, question.b, question.sb, question.rows, question.columns, _terms=terms)
            found = item.run(one)
            return None if found is None else run(self.values(question, found))

        return way

    def values(self, question: Question, found: Any) -> dict[str, Any]:
        """Return the values that a program takes."""
        values: dict[str, Any] = {name: np.float32(value) for name, value in question.scalars.items()}
        values["S"] = np.asarray(found, np.float64).astype(np.float32)
        values["C"] = question.addend.astype(np.float32) if question.c is not None else np.float32(0)
        return values

    def facts(self, left: list[Candidate]) -> None:
        """Say of each axis what all candidates that are left say."""
        for axis in dict.fromkeys(name for item in left for name in item.facts):
            said = list(dict.fromkeys(item.facts[axis] for item in left if axis in item.facts))
            self.axes.append(Axis("replay", axis, _listed(said)))

    def title(self, left: list[Candidate]) -> str:
        """Return the answer in words."""
        exact = next((item for item in left if isinstance(item, Exact)), None)
        if exact is not None:
            return "order cannot matter: every sum asked is exact and rounded once"
        names = [item.name for item in sorted(left, key=lambda item: not item.documented)]
        return _listed(names)

    def report(self, left: list[Candidate], title: str, departure: Departure | None) -> Identity:
        """Return the identity."""
        ordered = sorted(left, key=lambda item: not item.documented)
        kind: Any = "unknown" if title.startswith(UNKNOWN) else "documented" if ordered[0].documented else "revealed"
        agreed = self.asked if kind != "unknown" else 0
        departures = () if departure is None else (departure,)
        names = tuple(item.name for item in ordered)
        return Identity(self.target.name, "matmul", kind, names, title, tuple(self.axes), (), departures, self.asked, agreed)


def _listed(names: list[str]) -> str:
    if len(names) == 1:
        return names[0]
    more = f" | and {len(names) - TITLED} more" if len(names) > TITLED else ""
    return f"one of {' | '.join(names[:TITLED])}{more}"
