"""The study of whole models as one record: a line for each cell of the plan, kept as soon as it is done. Not here: the page."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, Final

import numpy as np

from emu.analysis.cells import load_recipes
from emu.base.errors import FileError
from emu.files.record import Record, changed, digests_of
from research.models import data, encoder, smollm
from research.models.data import CALIBRATED, HELD_OUT, LENGTH, TEXTS, WINDOWS, check_tools
from research.models.feedback import with_feedback
from research.models.kept import Kept, Lines
from research.models.plan import CHOSEN, COMMAND, E1M2, E2M1, MODELS, PAIRED, RECORD, Cell, plan
from research.models.products import Quantizer
from research.models.quantizers import ROTATION, SIGN_SETS
from research.models.similarity import pairs_of, rank_correlation, similarities
from research.pinned import single

__all__ = ("COMMAND", "RECORD")
DIGITS: Final = 6
CHOOSE, REPORT = slice(1, None, 2), slice(0, None, 2)  # documents that a choice is made on, and those that it is reported on


def kept_as_given(lines: Lines, model: str) -> list[str]:
    """Return the parts of the layers that lose less in E2M1 as given than in E1M2 rotated, quantized alone, on the documents of CHOOSE.

    Raises: FileError (a line of a part is missing).
    """

    def loss(recipe: str, signs: int | None, part: str) -> float:
        name = Cell(model, "wa", recipe, signs, part).name
        if name not in lines:
            raise FileError(f"{RECORD}: a choice part by part needs {name}: {COMMAND}")
        return float(np.mean(lines[name]["loss"][CHOOSE]))

    return [part for part in MODELS[model] if loss(E2M1, None, part) < loss(E1M2, 0, part)]


def measured(cell: Cell, lines: Lines) -> dict[str, Any]:
    """Run one cell and return its line: a list of figures, one for each document, by the name of the figure. lines: those before it.

    loss: of the encoder 1 - cosine to the vector in binary32; of the language model the divergence KL(binary32 || cell), nats a token; of
    pairs 1 - rank correlation of their likeness with that in binary32, for each group.
    order: rank correlation of a text's similarities to all others with those in binary32.   first: is the most similar text the same.
    people: rank correlation of the likeness of pairs with what people say.   nll: nats a token.   top1: share of places whose likeliest
    next token is the one of binary32.   given: with CHOSEN, parts in E2M1 as given, a name each and not a figure.
    """
    import torch

    given = kept_as_given(lines, cell.model) if cell.recipe == CHOSEN else []
    with torch.inference_mode():
        if cell.model in PAIRED:
            return _of_pairs(cell)
        found = _of_encoder(cell, given) if cell.model == "minilm" else _of_language(cell, given)
    return found | ({"given": given} if cell.recipe == CHOSEN else {})


@lru_cache(maxsize=1)
def _fed(model: str, recipe: str, mask: int | None) -> data.Weights:
    """Return the weights of a model with error feedback; the last ones are kept for the next cell."""
    weights, moments = (data.read_encoder() if model == "minilm" else data.read_language()).weights, data.moments(model)
    sharing: dict[int, list[tuple[int, str]]] = {}  # products of one input, quantized as one matrix of all their rows
    for key in weights:
        sharing.setdefault(id(moments[key]), []).append(key)
    found: data.Weights = {}
    for keys in sharing.values():
        rows = np.cumsum([len(weights[key]) for key in keys])[:-1]
        whole = with_feedback(np.concatenate([weights[key] for key in keys]), moments[keys[0]], recipe, mask)
        found |= dict(zip(keys, np.split(whole, rows), strict=True))
    return found


def _vectors(cell: Cell, ids: Any, given: list[str]) -> Any:
    model = data.read_encoder()
    return encoder.sentence_vectors(ids, model.tensors, Quantizer(cell, model.weights, given, partial(_fed, "minilm")).linear)


def _of_encoder(cell: Cell, given: list[str]) -> dict[str, Any]:
    ids, exact = data.vectors_of(tuple(data.lines_of(TEXTS)))
    found = _vectors(cell, ids, given)
    near, same = (_others((item @ item.T).numpy()) for item in (found, exact))
    order = [rank_correlation(left, right) for left, right in zip(near, same, strict=True)]
    first = [int(left.argmax() == right.argmax()) for left, right in zip(near, same, strict=True)]
    return {"loss": _short((1 - (found * exact).sum(1).double()).tolist()), "order": _short(order), "first": first}


def _others(similar: Any) -> Any:
    """Return each row without its own text."""
    count = len(similar)
    return similar[~np.eye(count, dtype=bool)].reshape(count, count - 1)


def _of_pairs(cell: Cell) -> dict[str, Any]:
    pairs = pairs_of(cell.model)
    ids, exact = data.vectors_of(pairs.texts)
    found, same = (similarities(item, pairs) for item in (_vectors(cell, ids, []), exact))
    return {"loss": _short([1 - value for value in pairs.figures(found, same)]), "people": _short(pairs.figures(found, pairs.people))}


def _of_language(cell: Cell, given: list[str]) -> dict[str, Any]:
    ids, exact = data.language_on_windows()
    model = data.read_language()
    quantizer = Quantizer(cell, model.weights, given, partial(_fed, "smollm"))
    found = data.log_probabilities(smollm.forward(ids, model, quantizer.linear, quantizer.cache))
    divergence = (exact.exp() * (exact - found)).sum(-1).reshape(ids.shape).mean(1)
    top = (exact.argmax(-1) == found.argmax(-1)).double().reshape(ids.shape).mean(1)
    nll = -found.reshape(*ids.shape, -1)[:, :-1].gather(-1, ids[:, 1:, None]).mean((1, 2))
    return {"loss": _short(divergence.tolist()), "nll": _short(nll.tolist()), "top1": _short(top.tolist())}


def _short(numbers: list[float]) -> list[float]:
    return [float(f"{number:.{DIGITS}g}") for number in numbers]


def facts() -> dict[str, dict[str, str]]:
    """Return the digests of the spec's objects that the study stands on."""
    load_recipes()
    return digests_of({"recipe": sorted({cell.recipe for cell in plan()} - {"", CHOSEN}), "transform": [ROTATION]})


def new_record(made_with: dict[str, str]) -> dict[str, Any]:
    """Return a record without lines. made_with: the machine, see `pinned.single`."""
    setting = {"windows": WINDOWS, "length": LENGTH, "sign_sets": SIGN_SETS, "texts": TEXTS, "held_out": HELD_OUT, "rotation": ROTATION}
    return {"command": COMMAND, "setting": setting | {"calibrated": CALIBRATED}, "made_with": made_with, "facts": facts(), "lines": {}}


def run(path: Path, cells: list[Cell], more: Callable[[], bool] = lambda: True, cluster: str | None = None) -> Iterator[str]:
    """Measure the cells that a record lacks; write it whole after each, and yield the name.

    more: asked before each cell; False ends it.   cluster: workers that do it, as emu.base.cluster.
    Raises: as Kept.run; ToolError (a package is missing).
    """
    check_tools()
    load_recipes()
    stages = ([cell for cell in cells if (cell.recipe == CHOSEN) == chosen] for chosen in (False, True))  # what is chosen needs lines
    kept = Kept(KIND, path, COMMAND, new_record, stale)
    yield from kept.run(measured, [[(cell.name, cell) for cell in some] for some in stages], more, cluster)


def measure(cells: list[Cell]) -> Lines:
    """Return the lines of some cells, measured now. Raises: ToolError (a package is missing)."""
    check_tools()
    single()
    load_recipes()
    found: Lines = {}
    for cell in cells:
        found[cell.name] = measured(cell, found)
    return found


def stale(record: dict[str, Any]) -> list[str]:
    """Return the names of facts that have changed since the record was made."""
    return [name for kind, now in facts().items() for name in changed(record["facts"].get(kind, {}), now)]


KIND: Final = Record(
    "record of whole models",
    f"run {COMMAND}",
    lambda place, _: place in ((), ("lines",), ("chain",), ("weights",)),
    ("command", "setting", "made_with", "facts", "lines"),
)


def read_record(path: Path) -> dict[str, Any]:
    """Return the record of a file. Raises: FileError."""
    return KIND.read(path)
