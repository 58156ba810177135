"""The report of a checkpoint as text."""

from __future__ import annotations

from collections.abc import Iterator

from emu.checkpoint.report import CheckpointReport, TensorReport

SHOWN = 5
ORDER = ("identified", "not separated", "unobservable", "separated")


def report_text(report: CheckpointReport) -> str:
    """Return the report for a reader: store, recipe, what excludes the others, then the weights that are damaged or depart."""
    if not report.tensors:
        return f"{report.path}: no 4-bit weights of a known store ({report.others} other tensors)"
    return "\n".join([*_head(report), *_recipes(report), *_profiles(report), *_faults(report)])


def _head(report: CheckpointReport) -> Iterator[str]:
    yield f"{report.path}: {len(report.tensors)} quantized weights, {report.others} other tensors"
    for store, count in report.stores.items():
        said = f" ({report.declared[store]})" if store in report.declared else " (by names and types; the file does not say so)"
        yield f"store: {store}, {count} weights{said}"
        mine = [tensor for tensor in report.tensors if tensor.store == store]
        for fits in dict.fromkeys(tensor.also_fits for tensor in mine if tensor.also_fits):
            yield f"  not separated from {', '.join(fits)}: the same names"
        for layout in dict.fromkeys((item.layout, item.layout_verdict, item.layout_why) for item in mine if item.layout):
            yield f"  scales {layout[0]}: {layout[1]} ({layout[2]})"
        for note in dict.fromkeys(note for tensor in mine for note in tensor.notes):
            who = [tensor.name for tensor in mine if note in tensor.notes]
            yield f"  {note}: {_names(who)}"
    for group in report.fused[:SHOWN]:
        yield f"one tensor factor for {_names(list(group))}"


def _recipes(report: CheckpointReport) -> Iterator[str]:
    best = report.recipes
    if report.original is None:
        yield f"recipe without the original: {'not separated: ' + ', '.join(best) if best else 'none that the spec knows'}"
    elif best:
        yield f"recipe: {' or '.join(best)}" + ("" if len(best) == 1 else " (not separated: they give the same bytes here)")
    else:
        yield "recipe: none that the spec knows gives every byte"
    tensor = next((item for item in report.tensors if set(best) & set(item.possible)), report.tensors[0])
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
    for tensor in report.departing[:SHOWN]:
        yield f"departs: {tensor.name}: {_nearest(tensor)}"
        yield from (f"    {row}" for row in tensor.rows)
    if len(report.departing) > SHOWN:
        yield f"departs: and {len(report.departing) - SHOWN} more (--json lists them)"
    if not report.damaged and not report.departing:
        yield "no weight is damaged" + (" or departs" if report.original is not None else "")


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
