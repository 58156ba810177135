"""What was found in a checkpoint: plain data. Its text is text.py."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from emu.base.text import readable, visible
from emu.checkpoint.passive import Finding

FINE, DEPARTS, NOTHING = 0, 1, 3
NO_RECIPE = "no recipe makes these blocks: not compared"
POWERS = "its scales are powers of two, and no recipe that makes such is known for its blocks"


@dataclass
class TensorReport:
    """One weight. recipes, profiles: findings, the best first.   damage: text -> first places.   suspicions: what is probably
    wrong.   notes: what else its bytes say.   said: recipe that the file names for this weight, where it does.
    orders_left: orders of nibbles and of scales that nothing excludes, the one that was read first.
    """

    name: str
    store: str
    shape: tuple[int, ...] = ()
    block: str = ""
    layout: str = ""
    layout_verdict: str = ""
    layout_why: str = ""
    packing: str = ""
    packing_verdict: str = ""
    packing_why: str = ""
    orders_left: dict[str, list[str]] = field(default_factory=dict)
    blocks: int = 0
    also_fits: tuple[str, ...] = ()
    tensor_factor: str | None = None
    recipes: list[Finding] = field(default_factory=list)
    profiles: list[Finding] = field(default_factory=list)
    damage: list[tuple[str, int, list[str]]] = field(default_factory=list)
    rows: list[str] = field(default_factory=list)
    suspicions: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    said: str | None = None

    @property
    def identified(self) -> list[str]:
        """Recipes that give every byte."""
        return [item.recipe for item in self.recipes if item.verdict == "identified"]

    @property
    def possible(self) -> list[str]:
        """Recipes that nothing excludes."""
        return [item.recipe for item in self.recipes if item.verdict != "separated"]

    @property
    def separated(self) -> list[str]:
        """Recipes that something excludes."""
        return [item.recipe for item in self.recipes if item.verdict == "separated"]

    @property
    def uncompared(self) -> bool:
        """Whether the original has the weight and no recipe could be tried on it."""
        return any(item.why.startswith((NO_RECIPE, POWERS)) for item in self.recipes)


@dataclass
class CheckpointReport:
    """Findings over all weights of a checkpoint.

    declared: what the file says of itself, by store.   fused: weights that share a tensor factor.   others: tensors that are not quantized.
    unread: weights of emu quantize whose blocks no store has: name -> recipe and block, by the header.
    """

    path: Path
    original: Path | None
    dequantized: Path | None
    tensors: list[TensorReport]
    declared: dict[str, str] = field(default_factory=dict)
    fused: list[tuple[str, ...]] = field(default_factory=list)
    others: int = 0
    unread: dict[str, str] = field(default_factory=dict)

    @property
    def stores(self) -> dict[str, int]:
        """Store -> number of weights."""
        found: dict[str, int] = {}
        for tensor in self.tensors:
            found[tensor.store] = found.get(tensor.store, 0) + 1
        return found

    @property
    def damaged(self) -> list[TensorReport]:
        """Weights whose bytes no writer leaves, and no recipe explains."""
        return [tensor for tensor in self.tensors if tensor.damage and not tensor.identified]

    @property
    def departing(self) -> list[TensorReport]:
        """Weights that no recipe writes, or that another writes than the rest, or than the one that the file names for the weight."""
        named = [tensor for tensor in self.tensors if tensor.recipes and not tensor.uncompared]
        return [tensor for tensor in named if not tensor.possible or self._other_recipe(tensor)]

    @property
    def uncompared(self) -> list[TensorReport]:
        """Weights that the original has too, in blocks that no recipe makes."""
        return [tensor for tensor in self.tensors if tensor.uncompared]

    def _other_recipe(self, tensor: TensorReport) -> bool:
        if self.original is None:
            return tensor.said in tensor.separated
        return not set(self.recipes if tensor.said is None else [tensor.said]) & set(tensor.identified)

    @property
    def suspicious(self) -> list[TensorReport]:
        """Weights with something that is probably wrong, and that no recipe explains."""
        return [tensor for tensor in self.tensors if tensor.suspicions and not tensor.identified]

    @property
    def recipes(self) -> list[str]:
        """Recipes that explain most weights: with the original those that give every byte, without it those that nothing excludes.

        Several are named only where they explain the same weights. Where the file names a recipe for each weight: of each such group.
        """
        return list(dict.fromkeys(name for group in self.groups.values() for name in self.explaining(group)))

    @property
    def groups(self) -> dict[str | None, list[TensorReport]]:
        """Weights by the recipe that the file names for each; None: it names none, so that one for all is looked for."""
        found: dict[str | None, list[TensorReport]] = {}
        for tensor in self.tensors:
            found.setdefault(tensor.said, []).append(tensor)
        return found

    def explaining(self, tensors: list[TensorReport]) -> list[str]:
        """Return the recipes that explain most of some weights."""
        explained: dict[str, set[str]] = {}
        wanted = "identified" if self.original is not None else "not separated"
        for tensor in tensors:
            for item in tensor.recipes:
                if item.verdict == wanted:
                    explained.setdefault(item.recipe, set()).add(tensor.name)
        most = max(explained.values(), key=len, default=set())
        return [name for name, weights in explained.items() if weights == most]

    @property
    def exit_code(self) -> int:
        """0 fine, 1 something departs, is damaged or probably so, 3 nothing is quantized, or a weight was not compared."""
        if not self.tensors:
            return NOTHING
        unread = any(item.verdict == "separated" for tensor in self.tensors for item in tensor.profiles[:1])
        if self.damaged or self.suspicious or self.departing or unread:
            return DEPARTS
        return NOTHING if self.uncompared else FINE

    def text(self) -> str:
        """Return the report for a reader."""
        return report_text(self)

    def json(self) -> dict[str, Any]:
        """Return the report as plain data."""
        return {
            "path": str(self.path),
            "original": None if self.original is None else str(self.original),
            "dequantized": None if self.dequantized is None else str(self.dequantized),
            "stores": self.stores,
            "declared": self.declared,
            "recipes": self.recipes,
            "damaged": [tensor.name for tensor in self.damaged],
            "suspicious": [tensor.name for tensor in self.suspicious],
            "departing": [tensor.name for tensor in self.departing],
            "uncompared": [tensor.name for tensor in self.uncompared],
            "fused": [list(group) for group in self.fused],
            "not_quantized": self.others,
            "unread": self.unread,
            "exit_code": self.exit_code,
            "tensors": [_plain(tensor) for tensor in self.tensors],
        }


def _plain(tensor: TensorReport) -> dict[str, Any]:
    data = asdict(tensor)
    data["recipes"] = [item._asdict() for item in tensor.recipes]
    data["profiles"] = [item._asdict() for item in tensor.profiles]
    data["damage"] = [{"what": what, "count": count, "first": places} for what, count, places in tensor.damage]
    return data


# The report of a checkpoint as text.


SHOWN = 5
ALONE = (
    "codes and scales alone show no damage; exchanged nibbles, scales in other places and a wrong tensor factor they cannot show: "
    "give the original"
)
ORDER = ("identified", "not separated", "unobservable", "separated")


def report_text(report: CheckpointReport) -> str:
    """Return the report for a reader: store, recipe, what excludes the others, then the weights that are damaged or depart."""
    if not report.tensors:
        return visible(f"{report.path}: no quantized weights of a known store ({report.others} other tensors)")
    recipes = [line for said, tensors in report.groups.items() for line in _recipes(report, said, tensors)]
    return readable([*_head(report), *recipes, *_profiles(report), *_faults(report)])


def _head(report: CheckpointReport) -> Iterator[str]:
    yield f"{report.path}: {len(report.tensors)} quantized weights, {report.others} other tensors"
    for store, count in report.stores.items():
        said = f" ({report.declared[store]})" if store in report.declared else " (by names and types; the file does not say so)"
        yield f"store: {store}, {count} weights{said}"
        mine = [tensor for tensor in report.tensors if tensor.store == store]
        for fits in dict.fromkeys(tensor.also_fits for tensor in mine if tensor.also_fits):
            yield f"  not separated from {', '.join(fits)}: the same names"
        for left in dict.fromkeys((*item.orders_left.get("packing", []),) for item in mine if item.packing_verdict == "not separated"):
            why = next(item.packing_why for item in mine if item.packing_verdict == "not separated")
            yield f"  nibbles {' or '.join(left)}: not separated ({why})"
        for layout in dict.fromkeys((item.layout, item.layout_verdict, item.layout_why) for item in mine if item.layout):
            yield f"  scales {layout[0]}: {layout[1]} ({layout[2]})"
        for note in dict.fromkeys(note for tensor in mine for note in tensor.notes):
            who = [tensor.name for tensor in mine if note in tensor.notes]
            yield f"  {note}: {_names(who)}"
    for what in dict.fromkeys(report.unread.values()):
        who = [name for name, said in report.unread.items() if said == what]
        yield f"not looked at, {what}, which no store has: {_names(who)}"
    for group in report.fused[:SHOWN]:
        yield f"one tensor factor for {_names(list(group))}"


def _recipes(report: CheckpointReport, said: str | None, tensors: list[TensorReport]) -> Iterator[str]:
    best = report.explaining(tensors)
    if said is not None:
        yield f"by {said}, as the file says: {_names([tensor.name for tensor in tensors])}"
    if report.original is None:
        unsaid = any(item.verdict == "unobservable" for tensor in tensors for item in tensor.recipes)
        none = "not told by the bytes alone" if unsaid else "none that the spec knows"
        yield f"recipe without the original: {'not separated: ' + ', '.join(best) if best else none}"
    elif best:
        yield f"recipe: {' or '.join(best)}" + ("" if len(best) == 1 else " (not separated: they give the same bytes here)")
    else:
        yield "recipe: none that the spec knows gives every byte"
    tensor = next((item for item in tensors if set(best) & set(item.possible)), tensors[0])
    if tensor.recipes:
        yield f"  of {tensor.name}:"
    for verdict in ORDER:
        mine = [item for item in tensor.recipes if item.verdict == verdict]
        for why in dict.fromkeys(item.why for item in mine):
            word = "unobservable because" if verdict == "unobservable" else verdict
            yield f"  {', '.join(item.recipe for item in mine if item.why == why)}: {word}: {why}"


def _profiles(report: CheckpointReport) -> Iterator[str]:
    read = [item for item in report.tensors if item.profiles]
    tensor = next((item for item in read if item.profiles[0].verdict != "unobservable"), read[0] if read else None)
    if tensor is not None:
        yield f"read back, of {tensor.name}:"
        for item in tensor.profiles:
            yield f"  {item.recipe:<40} {item.verdict}: {item.why}"


def _faults(report: CheckpointReport) -> Iterator[str]:
    for tensor in report.damaged:
        for what, count, places in tensor.damage:
            yield f"damaged: {tensor.name}: {what}" + (f" ({count})" if count > 1 else "")
            yield from (f"    {place}" for place in places)
    for tensor in report.suspicious:
        yield from (f"probably wrong: {tensor.name}: {what}" for what in tensor.suspicions)
    named = {tensor.name for tensor in report.damaged}
    departing = [tensor for tensor in report.departing if tensor.name not in named]
    for tensor in departing[:SHOWN]:
        yield f"departs: {tensor.name}: {_nearest(tensor)}"
        yield from (f"    {row}" for row in tensor.rows)
    if len(departing) > SHOWN:
        yield f"departs: and {len(departing) - SHOWN} more (--json lists them)"
    if report.uncompared:
        by_scales = [tensor for tensor in report.uncompared if tensor.recipes[0].why.startswith(POWERS)]
        by_blocks = [tensor.name for tensor in report.uncompared if tensor not in by_scales]
        if by_blocks:
            yield f"not compared with the original, no recipe makes their blocks: {_names(by_blocks)}"
        for tensor in by_scales[:SHOWN]:
            yield f"not judged: {tensor.name}: {tensor.recipes[0].why}"
    elif not (report.damaged or report.departing or report.suspicious):
        yield "no weight is damaged or departs" if report.original is not None else ALONE


def _nearest(tensor: TensorReport) -> str:
    if not tensor.recipes:
        return "no recipe to compare with"
    first = tensor.recipes[0]
    if first.verdict == "unobservable":
        return first.why
    return f"{'written by' if first.verdict == 'identified' else 'nearest'} {first.recipe}: {first.why}"


def _names(names: list[str]) -> str:
    shown = ", ".join(names[:SHOWN])
    return shown if len(names) <= SHOWN else f"{shown} and {len(names) - SHOWN} more"
