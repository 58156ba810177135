"""The whole reproduction as one record: what was run, on which facts, and every figure. Not here: the page (research.pages.shrinkage)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Final

from ml_dtypes import bfloat16

from emu.analysis.bias import local_bias
from emu.analysis.cells import CELLS, CODECS, load_recipes, recipe_of
from emu.analysis.drawn_tensors import drawn
from emu.analysis.grid import grid_of
from emu.base.errors import FileError, OperandError
from emu.files.record import Place, Record, changed, digests_of
from emu.spec import get
from research import minilm
from research.reproduction import cells, data, equivalence, nulls, real
from research.reproduction.depth import FULL, Setting

COMMAND: Final = "python -m research reproduce --out docs/evidence/shrinkage.json --force"
RECORD: Final = "docs/evidence/shrinkage.json"
PARTS: Final = ("bias", "tensors", "gemm", "depth", "precision", "scales", "equivalence", "model", "nulls")
GRIDS: Final = ("e2m1_fp32scale", "e1m2_fp32scale")
RESTRICTED: Final = ("study_e2m1_to2", "study_e2m1_to3", "study_e2m1_to4", "study_e2m1_even")
SCALE_GRIDS: Final = ("e2m1", "e1m2")
SCALE_DATA: Final = ("gaussian", "lognormal_1.0")
TENSOR_DATA: Final = tuple(data.DATA)
GEMM_DATA: Final = ("gaussian", "lognormal_1.0")
TENSOR_SEED: Final = 0
GEMM_SEED: Final = 11
BIAS_FORMATS: Final = ("e2m1", "e1m2", "e0m3", "int4", "study_e2m1_to2", "study_e2m1_even")
Rows = list[dict[str, Any]]
Tick = Callable[[str], None]


@dataclass(frozen=True)
class Size:
    """How large a run is. The figures of the page are those of WHOLE."""

    name: str
    tensor: tuple[int, int]
    gemm: tuple[int, int, int]
    depth: Setting
    seeds: int
    every: int
    layers: int
    null_tensor: tuple[int, int]
    null_seeds: int


WHOLE: Final = Size("whole", (4096, 1024), (512, 512, 4096), FULL, 3, 1, minilm.LAYERS, (512, 512), 8)
QUICK: Final = Size("quick", (128, 128), (32, 32, 256), Setting(8, 64, 64), 2, equivalence.QUICK * 4, 1, (64, 64), 2)


def run(
    model: Path | None,
    size: Size = WHOLE,
    parts: Sequence[str] = PARTS,
    tensors: Path | None = None,
    engine: str = "auto",
    tick: Tick = lambda _: None,
) -> dict[str, Any]:
    """Run the reproduction and return its record, ready for JSON.

    model: folder of MiniLM, or None: without it.   parts: which of PARTS.   tensors: a file of captured tensors, to measure too.
    tick: called with the name of each piece.   Raises: OperandError (no such part), FileError (model or file), as emu.quantize.
    """
    load_recipes()
    if set(parts) - set(PARTS) or not parts:
        raise OperandError(f"parts {', '.join(parts) or 'none'}: each is one of {', '.join(PARTS)}")
    record: dict[str, Any] = {"command": COMMAND, "size": size.name, "setting": _setting(size), "facts": facts()}
    makers: dict[str, Callable[[], Any]] = {
        "bias": biases,
        "tensors": lambda: list(_tensors(size, engine, tick)),
        "gemm": lambda: list(_gemms(size, engine, tick)),
        "depth": lambda: list(_depths(size, engine, tick)),
        "precision": lambda: list(_precision(size, engine, tick)),
        "scales": lambda: list(_scales(size, engine, tick)),
        "equivalence": lambda: _equivalence(size, engine, tick),
        "model": lambda: None if model is None else _model(model, size, engine, tick),
        "nulls": lambda: _nulls(model, size, tick),
    }
    for part in parts:
        tick(part)
        record[part] = makers[part]()
    if tensors is not None:
        record["captured"] = _captured(tensors, engine, tick)
    return record


def facts() -> dict[str, dict[str, str]]:
    """Return id -> digest of every recipe and transform that the record is made from."""
    names = {*GRIDS, *RESTRICTED, *(name for recipes in CELLS.values() for name in recipes)}
    rotations = (data.ROTATION, data.FP32_ROTATION)
    return digests_of({"recipe": sorted(names), "transform": rotations, "format": BIAS_FORMATS, "datapath": equivalence.DATAPATHS})


def _setting(size: Size) -> dict[str, Any]:
    return {
        "rotation": data.ROTATION,
        "signs": f"0x{data.sign_mask():04X}",
        "tensor_shape": list(size.tensor),
        "tensor_seed": TENSOR_SEED,
        "gemm_shape": list(size.gemm),
        "gemm_seed": GEMM_SEED,
        "depth": asdict(size.depth),
        "seeds": size.seeds,
        "sentences": list(minilm.SENTENCES),
    }


def biases() -> Rows:
    """Return the bias of every bin above zero under a locally flat density, for each grid; None at the end of the grid."""
    found = []
    for name in BIAS_FORMATS:
        grid = grid_of(name)
        pairs = [(value, bias) for value, bias in zip(grid.values, local_bias(grid), strict=True) if value > 0]
        found.append({"format": name, "values": [str(v) for v, _ in pairs], "bias": [None if b is None else str(b) for _, b in pairs]})
    return found


def _tensors(size: Size, engine: str, tick: Tick) -> Iterator[dict[str, Any]]:
    for name in TENSOR_DATA:
        tensor = cells.Tensor(name, "drawn", drawn(name, size.tensor, TENSOR_SEED))
        for recipe in GRIDS:
            tick(f"{name} {recipe}")
            yield from (cells.tensor_row(tensor, recipe, rotated, engine) for rotated in (False, True))


def _gemms(size: Size, engine: str, tick: Tick) -> Iterator[dict[str, Any]]:
    for pair in cells.drawn_pairs(GEMM_DATA, size.gemm, GEMM_SEED):
        for recipe in (*GRIDS, *RESTRICTED):
            tick(f"product {pair.name} {recipe}")
            yield from (cells.gemm_row(pair, recipe, rotated, None, engine) for rotated in (False, True))


def _depths(size: Size, engine: str, tick: Tick) -> Iterator[dict[str, Any]]:
    rotations = (None, data.ROTATION, data.FP32_ROTATION)
    residual, plain = replace(size.depth, residual=True), size.depth
    todo = [(residual, recipe, rotation) for recipe in GRIDS for rotation in rotations[:2]]
    todo += [(plain, recipe, rotation) for recipe in GRIDS for rotation in rotations]
    todo += [(plain, RESTRICTED[0], None), *((replace(plain, weights="gaussian"), recipe, None) for recipe in GRIDS)]
    for setting, recipe, rotation in todo:
        tick(f"depth {setting.weights} {recipe}")
        runs = cells.chains(setting, recipe, rotation is not None, size.seeds, engine, rotation or data.ROTATION)
        yield from cells.depth_rows(setting, runs)


def _precision(size: Size, engine: str, tick: Tick) -> Iterator[dict[str, Any]]:
    """Yield normal numbers as binary32 and as bf16, as they are and rotated: the precision of what is quantized moves alpha."""
    wide = drawn("gaussian", size.tensor, TENSOR_SEED)
    for source, values in (("fp32", wide), ("bf16", wide.astype(bfloat16))):
        tensor = cells.Tensor("gaussian", "drawn", values)
        for recipe in GRIDS:
            for rotation in (None, data.FP32_ROTATION, data.ROTATION):
                tick(f"precision {source} {recipe}")
                row = cells.tensor_row(tensor, recipe, rotation is not None, engine, rotation or data.ROTATION)
                yield {"source": source, **row}


def _scales(size: Size, engine: str, tick: Tick) -> Iterator[dict[str, Any]]:
    for name in SCALE_DATA:
        tensor = cells.Tensor(name, "drawn", drawn(name, size.tensor, TENSOR_SEED))
        for codec in CODECS:
            for element in SCALE_GRIDS:
                recipe = recipe_of(element, codec)
                tick(f"scale {name} {recipe.id}")
                head = {"codec": codec, "element": element, "block": get("block", recipe.facts.block).facts.shape[1]}
                yield from ({**head, **cells.tensor_row(tensor, recipe.id, rotated, engine)} for rotated in (False, True))


def _equivalence(size: Size, engine: str, tick: Tick) -> dict[str, Any]:
    tick("equivalence")
    found = [asdict(item) for item in equivalence.equivalences(size.every, engine)]
    return {"recipes": found, "products": list(equivalence.products(engine))}


def _model(folder: Path, size: Size, engine: str, tick: Tick) -> dict[str, Any]:
    tick("model")
    pairs = real.model_pairs(folder, range(size.layers))
    return {"tensors": _rows_of(real.tensors_of(pairs), engine, tick), "gemm": _products_of(pairs, engine, tick)}


def _nulls(folder: Path | None, size: Size, tick: Tick) -> dict[str, Any]:
    """Return the figures of drawn tensors under other seeds, and of both kinds of data under other signs."""
    pairs = [] if folder is None else real.model_pairs(folder, range(size.layers))
    tick("nulls")
    return {
        "shape": list(size.null_tensor),
        "signs": [f"0x{mask:04X}" for mask in nulls.masks()],
        "drawn": list(nulls.drawn_rows(TENSOR_DATA, size.null_tensor, size.null_seeds, GRIDS)),
        "tensors": [{**row, "kind": tensor.kind} for tensor in real.tensors_of(pairs) for row in nulls.tensor_rows(tensor, GRIDS)],
        "gemm": [row for pair in pairs for row in nulls.gemm_rows(pair, GRIDS)],
        "depth": list(nulls.depth_rows(replace(size.depth, residual=True), (GRIDS[1],), size.seeds)),
    }


def _captured(path: Path, engine: str, tick: Tick) -> dict[str, Any]:
    tensors = real.captured(path)
    try:
        pairs = real.captured_pairs(path)
    except FileError:  # tensors alone, no products
        pairs = []
    digests = {tensor.name: data.digest_of(tensor.values) for tensor in tensors}
    return {
        "file": path.name,
        "from": real.captured_from(path),
        "digests": digests,
        "tensors": _rows_of(tensors, engine, tick),
        "gemm": _products_of(pairs, engine, tick),
    }


def _rows_of(tensors: list[cells.Tensor], engine: str, tick: Tick) -> Rows:
    found = []
    for tensor in tensors:
        tick(tensor.name)
        for recipe in GRIDS:
            rows = (cells.tensor_row(tensor, recipe, rotated, engine) for rotated in (False, True))
            found += [{**row, "kind": tensor.kind} for row in rows]
    return found


def _products_of(pairs: list[cells.Pair], engine: str, tick: Tick) -> Rows:
    found = []
    for pair in pairs:
        tick(pair.name)
        found += [cells.gemm_row(pair, recipe, rotated, None, engine) for recipe in GRIDS for rotated in (False, True)]
    return found


def _opened(place: Place, value: Any) -> bool:
    """Rows stand on a line each, and so does what holds rows."""
    if place and isinstance(place[-1], int):
        return False
    if isinstance(value, list):
        return bool(value) and isinstance(value[0], dict)
    return any(isinstance(item, list | dict) for item in value.values())


def _check(found: dict[str, Any]) -> None:
    if not found["model"]:
        raise ValueError("not the whole record: model is empty")
    if found["size"] != WHOLE.name:
        raise ValueError(f"made with --{found['size']}, for tests only")


KIND: Final = Record("record of the reproduction", f"make it with: {COMMAND}", _opened, ("facts", "setting", *PARTS), check=_check)
read_record, as_text = KIND.read, KIND.text


def stale(record: dict[str, Any]) -> list[str]:
    """Return the objects of the spec that a record was made from and that are others now; empty when it still fits."""
    load_recipes()
    then = record["facts"]
    return sorted({name for kind, now in facts().items() for name in changed(then.get(kind, {}), now)})
