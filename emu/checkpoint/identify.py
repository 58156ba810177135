"""identify_files: which store, layout, recipe and reader a checkpoint shows, by its bytes alone or against the original."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import numpy as np

from emu.checkpoint.amax import Maximum, maxima
from emu.checkpoint.candidates import candidates, has_tensor_level, owns
from emu.checkpoint.compare import Original, compare
from emu.checkpoint.container import Container, open_checkpoint
from emu.checkpoint.damage import ORDERS, named_damage
from emu.checkpoint.dequantized import profile_findings
from emu.checkpoint.described import described, elsewhere
from emu.checkpoint.layout import UNSTATED, Order, Stated
from emu.checkpoint.passive import SEPARATED, UNSEEN, Finding, passive_findings
from emu.checkpoint.powers import powers_of_two
from emu.checkpoint.read import StoredTensor, open_tensor, undecided
from emu.checkpoint.report import NO_RECIPE, CheckpointReport, TensorReport
from emu.checkpoint.scan import Scan, scan_tensor
from emu.checkpoint.store import companions, matches

ODD = 16  # binades from 1: a maximum of weights beyond it is no maximum of weights


def identify_files(
    quantized: str | Path, original: str | Path | None = None, dequantized: str | Path | None = None, stated: Stated = UNSTATED
) -> CheckpointReport:
    """Identify a checkpoint: store, layout, recipe, scale rule, shared maxima, damage; nothing is loaded whole.

    quantized: a .safetensors or .gguf file, a folder of them, or an index.   original: the weights before quantization, likewise: every
    recipe that the store could hold quantizes them and its bytes are compared.   dequantized: the weights as a library reads them back.
    stated: order of nibbles and scales (layout.stated_orders), for weights where neither the file nor its bytes say it.
    Returns: a report; exit_code 0 identified or nothing wrong, 1 departs or damaged, 3 no quantized weight, or one that was not compared.
    Raises: FileError (missing, truncated, foreign, a tensor that lacks its companions, an index that leaves its folder), ToolError.
    Source: spec/checkpoint.   Tests: tests/checkpoint.
    """
    container = open_checkpoint(quantized)
    before, after = (None if path is None else open_checkpoint(path) for path in (original, dequantized))
    found = matches(container)
    opened = [(fitting, open_tensor(container, fitting, stated)) for fitting in found]
    tensors = [item for _, item in opened if isinstance(item, StoredTensor)]
    groups = _sharing(tensors)
    tops = _shared_maxima(groups, before)
    reports = []
    for fitting, item in opened:
        if isinstance(item, str):
            reports.append(TensorReport(fitting[0].weight, fitting[0].store.id, damage=[(item, 1, [])]))
        else:
            reports.append(_report(item, before, after, tops.get(item.name)))
    chosen = [item.match if isinstance(item, StoredTensor) else fitting[0] for fitting, item in opened]
    declared = {match.store.id: match.declared for match in chosen if match.declared}
    others = len(container.entries) - len(companions(container, chosen))
    named = [tuple(tensor.name for tensor in group) for group in groups]
    wider = list(elsewhere(container, chosen))
    others -= sum(len(item.parts) for item in wider)
    unread = {item.name: f"{item.recipe}, blocks of {item.block}" for item in wider}
    return CheckpointReport(container.path, _path(original), _path(dequantized), reports, declared, named, others, unread)


def _path(path: str | Path | None) -> Path | None:
    return None if path is None else Path(path)


def _report(tensor: StoredTensor, before: Container | None, after: Container | None, shared: int | None) -> TensorReport:
    order, packing = tensor.order, tensor.packing
    report = TensorReport(tensor.name, tensor.store.id, tensor.shape, tensor.block.id, order.layout, order.verdict, order.why)
    report.packing, report.packing_verdict, report.packing_why = packing.name, packing.verdict, packing.why
    report.orders_left = {"packing": [packing.name, *packing.others], "scale_layout": [order.layout, *order.others]}
    report.also_fits = tensor.others
    about = described(tensor.container, tensor.match)
    report.said = None if about is None else about.recipe
    scans = [(tensor, scan_tensor(tensor))]
    for name in order.others if before is None else ():
        other = replace(tensor, order=Order(name, None, "not separated", ""))
        scans.append((other, scan_tensor(other)))
    scan = scans[0][1]
    scan.faults = {text: fault for text, fault in scan.faults.items() if all(text in other.faults for _, other in scans)}
    report.blocks = scan.blocks
    report.damage = [(text, count, places) for text, (count, places) in scan.faults.items()]
    report.tensor_factor = None if tensor.tensor_bits is None else f"{tensor.tensor_bits:08X}"
    report.notes = list(_notes(tensor, scan))
    suspicion = _suspicion(tensor, scan)
    if suspicion is not None:
        report.suspicions.append(suspicion)
    if before is None:
        readings = zip(*(passive_findings(*item) for item in scans), strict=True)
        report.recipes = [next((item for item in same if item.verdict != SEPARATED), same[0]) for same in readings]
    else:
        _compared(report, tensor, Original(before, tensor), scan, shared)
    if after is not None:
        values = Original(after, tensor, "the dequantized file")
        report.profiles = [Finding("any", UNSEEN, values.fault)] if values.fault else profile_findings(tensor, values)
    return report


def _compared(report: TensorReport, tensor: StoredTensor, original: Original, scan: Scan, shared: int | None) -> None:
    """Fill in what the original shows; where it lacks the weight, what the bytes alone show."""
    if original.fault is not None:
        named = [recipe.id for recipe in candidates(tensor.store)] or ["any"]
        report.recipes = [Finding(name, UNSEEN, original.fault) for name in named]
        return
    outcomes = compare(tensor, original, shared)
    if not outcomes:
        report.recipes = [Finding("any", UNSEEN, NO_RECIPE)]
        return
    for name in tensor.store.facts.scale_layouts if tensor.order.verdict == "not separated" and not outcomes[0].exact else ():
        if name != tensor.order.layout:
            other = replace(tensor, order=Order(name, None, "separated", "so they follow from the original"))
            again = compare(other, original, shared)
            if again[0].exact:
                outcomes, (report.layout, _, report.layout_verdict, report.layout_why, _) = again, other.order
                report.orders_left["scale_layout"] = [name]
                break
    known = None if outcomes[0].exact else powers_of_two(tensor, original, outcomes)
    if known is not None:
        report.recipes = [Finding("any", UNSEEN, known)]
        return
    report.recipes = [outcome.finding() for outcome in outcomes]
    if outcomes[0].exact:
        return
    report.rows = outcomes[0].rows
    damage = named_damage(tensor, original, outcomes)
    if damage is not None:
        if undecided(tensor) is not None and any(text in damage for text in ORDERS):
            damage += f"; or the file is of another library: it does not say that it is of {tensor.store.id}"
        report.damage.append((damage, 1, []))


def _notes(tensor: StoredTensor, scan: Scan) -> Iterable[str]:
    if scan.tiled and tensor.rows >= 16:
        yield "scales are equal over every 16 rows: quantized in tiles"
    if scan.flagged and tensor.store.facts.high_bit != "refused":
        yield f"bit 7 of scales is set somewhere ({tensor.store.facts.high_bit})"
    behind = None if scan.faults else _maximum(tensor)
    if behind is not None and behind.short and not _odd(behind):
        yield "the tensor factor is that of a bf16 maximum"


def _suspicion(tensor: StoredTensor, scan: Scan) -> str | None:
    """Return what is probably wrong with the tensor factor, by its size alone; None: nothing, or it is damaged anyway."""
    if tensor.tensor_bits is None or scan.faults:
        return None
    behind = _maximum(tensor)
    if behind is None:
        return "the tensor factor comes from no tensor maximum that the store's recipe knows"
    if not _odd(behind):
        return None
    value = np.array(behind.bits, np.uint32).view(np.float32)
    return f"the tensor factor stands for a maximum of {value}: is it a {'multiplier' if _divides(tensor) else 'divisor'} there"


def _maximum(tensor: StoredTensor) -> Maximum | None:
    """Return the tensor maximum behind a stored factor under the store's own recipe; None without any."""
    recipe = next((item for item in candidates(tensor.store) if has_tensor_level(item) and owns(tensor.store, item)), None)
    return None if recipe is None or tensor.tensor_bits is None else maxima(recipe, tensor.tensor_bits)


def _odd(behind: Maximum) -> bool:
    return abs((behind.bits >> 23) - 127) > ODD


def _divides(tensor: StoredTensor) -> bool:
    return any(level.meaning == "divisor" for level in tensor.store.facts.levels)


def _sharing(tensors: list[StoredTensor]) -> list[list[StoredTensor]]:
    """Return the weights of one parent module that have bit-equal tensor factors."""
    found: dict[tuple[str, int], list[StoredTensor]] = {}
    for tensor in tensors:
        bits = tensor.tensor_bits
        if bits is not None:
            found.setdefault((tensor.match.module.rpartition(".")[0], bits), []).append(tensor)
    return [group for group in found.values() if len(group) > 1]


def _shared_maxima(groups: list[list[StoredTensor]], before: Container | None) -> dict[str, int]:
    """Return name -> binary32 bits of the largest magnitude among the weights that share its tensor factor."""
    tops: dict[str, int] = {}
    for group in groups if before is not None else []:
        assert before is not None
        found = [original.amax() for original in (Original(before, tensor) for tensor in group) if original.fault is None]
        if found:
            tops |= {tensor.name: max(found) for tensor in group}
    return tops
