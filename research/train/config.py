"""Training configurations as data: strict YAML files, shipped ones in config/. Not here: running them (loop.py), their runs (plan.py)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib.resources import as_file, files
from pathlib import Path
from typing import Annotated, Any, Final, Literal, Self

from pydantic import BeforeValidator, Field, ValidationError, model_validator

from emu.base.errors import FileError, SpecError
from emu.spec.faults import first_fault
from emu.spec.loader import Document, read
from emu.spec.models.common import Id, Part, digest_json

_DECIMAL: Final = re.compile(r"-?[0-9]+(\.[0-9]+)?\Z")
BLOCK: Final = 32  # tokens and widths are multiples of it: the longest block of the training recipes


def _number(value: Any) -> Any:
    """Turn a quoted decimal into a number; everything else is left for the model to refuse."""
    return float(value) if isinstance(value, int | str) and _DECIMAL.match(str(value)) else value


Number = Annotated[float, BeforeValidator(_number)]
Count = Annotated[int, Field(ge=1)]


class Optimizer(Part):
    """Adam, and how its learning rate moves."""

    lr: Number = Field(gt=0, description="highest learning rate")
    final_lr: Number = Field(ge=0, description="learning rate of the last step, reached along half a cosine")
    warmup: int = Field(default=0, ge=0, description="steps of linear rise to the highest learning rate")
    betas: tuple[Number, Number] = Field(description="decay of the two moments")
    weight_decay: Number = Field(default=0.0, ge=0, description="decoupled weight decay (AdamW)")
    clip: Number | None = Field(default=None, gt=0, description="largest norm of all gradients; absent: no clipping")


class Runs(Part):
    """A grid of runs: every model x training x seed."""

    models: tuple[Id, ...] = Field(min_length=1, description="names of models of this file")
    trainings: tuple[Id, ...] = Field(min_length=1, description="ids of spec/training")
    seeds: tuple[int, ...] = Field(min_length=1, description="one run each")


class Reference(Part):
    """Figures of somebody else beside which ours are shown."""

    model: Id = Field(description="name of a model of this file")
    training: Id = Field(description="id of spec/training")
    metrics: tuple[Number, ...] = Field(min_length=1, description="the metric per seed, in the order of seeds")


class Anchor(Part):
    """A published relative loss gap."""

    training: Id = Field(description="id of spec/training")
    what: str = Field(description="the model it was measured on")
    gap_percent: Number | None = Field(default=None, description="loss above BF16, in percent of it; absent: only the order is known")
    status: str = Field(description="status word of the fact")
    source: str = Field(description="where it was read")


class Order(Part):
    """A claim about two trainings, to be looked at on every seed."""

    better: Id = Field(description="the training whose figure is to be smaller")
    worse: Id = Field(description="the other one")
    models: tuple[Id, ...] = Field(min_length=1, description="models of this file on which the page looks")
    claim: str = Field(description="what is claimed, and where")


class Frame(Part):
    """What every configuration has."""

    id: Id = Field(description="name of the study; the record keeps its runs under it")
    title: str = Field(description="one line for a reader")
    metric: str = Field(description="what the figure of a run is")
    steps: Count = Field(description="optimizer steps of a run")
    batch: Count = Field(description="rows of a batch: inputs, or sequences")
    checkpoint_every: Count = Field(description="steps between two checkpoints")
    gemm: Id = Field(default="fp32", description="arithmetic of the emulated products: fp32, or an id of spec/datapath")
    device: Literal["cpu", "cuda"] = Field(default="cpu", description="where tensors live")
    optimizer: Optimizer = Field(description="the optimizer")
    runs: tuple[Runs, ...] = Field(min_length=1, description="grids of runs")
    reference: tuple[Reference, ...] = Field(default=(), description="figures of another implementation of the same experiment")
    reference_source: str | None = Field(default=None, description="where those figures are from")
    orders: tuple[Order, ...] = Field(default=(), description="orders that the page looks for")
    sizes: tuple[Id, ...] = Field(default=(), description="models whose figures are fitted over the number of their weights")
    anchors: tuple[Anchor, ...] = Field(default=(), description="published figures of larger models")


class Pairs(Part):
    """A teacher and its student: residual blocks x + W2 relu(W1 rms(x))."""

    column_spread: Number = Field(ge=0, description="c: inputs are N(0, 1) times exp(c N(0, 1)), one factor a column; 0: Gaussian")


class StudentTeacher(Frame):
    """A student near its teacher learns to be the teacher."""

    kind: Literal["student_teacher"] = Field(description="what is trained")
    blocks: Count = Field(description="residual blocks")
    width: int = Field(multiple_of=BLOCK, gt=0, description="features")
    hidden: int = Field(multiple_of=BLOCK, gt=0, description="features inside a block")
    student_noise: Number = Field(ge=0, description="student = teacher + this * std(W) * N(0, 1)")
    held_out: int = Field(multiple_of=BLOCK, gt=0, description="inputs of the metric")
    models: dict[Id, Pairs] = Field(min_length=1, description="inputs")


class Decoder(Part):
    """One decoder-only transformer."""

    width: int = Field(multiple_of=BLOCK, gt=0, description="features of a token")
    layers: Count = Field(description="attention and feed-forward pairs")
    heads: Count = Field(description="attention heads")
    hidden: int = Field(multiple_of=BLOCK, gt=0, description="features inside a feed-forward layer, or inside each expert")
    experts: int = Field(default=0, ge=0, description="0: dense; else experts of each feed-forward layer, one for each token")

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if self.width % (2 * self.heads):
            raise ValueError(f"width {self.width} does not give {self.heads} heads of an even size: change heads")
        return self


class Corpus(Part):
    """Docstrings of installed packages, as bytes."""

    packages: tuple[Id, ...] = Field(min_length=1, description="packages of the environment, in this order")
    validation_every: int = Field(ge=2, description="every so many files go to validation")
    digest: str = Field(pattern=r"^[0-9a-f]{64}$", description="SHA-256 of the text with the pinned packages")


class Decoders(Frame):
    """Decoder transformers on text."""

    kind: Literal["decoder"] = Field(description="what is trained")
    corpus: Corpus = Field(description="the text")
    context: int = Field(multiple_of=BLOCK, gt=0, description="tokens of a sequence")
    held_out: Count = Field(description="sequences of the metric, spread over the validation text")
    models: dict[Id, Decoder] = Field(min_length=1, description="sizes")


Config = StudentTeacher | Decoders
_KINDS: Final[dict[str, type[StudentTeacher | Decoders]]] = {"student_teacher": StudentTeacher, "decoder": Decoders}


def shipped() -> tuple[str, ...]:
    """Return the names of the shipped configurations, sorted."""
    return tuple(
        sorted(item.name.removesuffix(".yaml") for item in (files("research.train") / "config").iterdir() if item.name.endswith(".yaml"))
    )


def load(name: str | Path) -> Config:
    """Return the configuration of a file, or of a shipped name. Raises: FileError (no such file), SpecError with file and line."""
    if str(name) in shipped():
        with as_file(files("research.train") / "config" / f"{name}.yaml") as path:
            return _parsed(read(path, f"config/{name}.yaml"))
    if not Path(name).is_file():
        raise FileError(f"{name}: no such file and no shipped configuration: give a file or one of {', '.join(shipped())}")
    return _parsed(read(Path(name)))


def _parsed(document: Document) -> Config:
    kind = document.data.get("kind") if isinstance(document.data, dict) else None
    if not isinstance(kind, str) or kind not in _KINDS:
        raise SpecError(f"{document.where(('kind',))}: kind {kind!r} is unknown: one of {', '.join(_KINDS)}")
    model = _KINDS[kind]
    try:
        found = model.model_validate(document.data)
    except ValidationError as error:
        raise SpecError(first_fault(error, model, document)) from None
    for path, names in _named_models(found):
        for name in names:
            if name not in found.models:
                raise SpecError(f"{document.where(path)}: model {name} is not in this file: one of {', '.join(found.models)}")
    return found


def _named_models(config: Config) -> Iterator[tuple[tuple[str | int, ...], tuple[str, ...]]]:
    """Yield every place that names models, and the names."""
    yield from ((("runs", place, "models"), grid.models) for place, grid in enumerate(config.runs))
    yield from ((("orders", place, "models"), order.models) for place, order in enumerate(config.orders))
    yield from ((("reference", place, "model"), (item.model,)) for place, item in enumerate(config.reference))
    yield ("sizes",), config.sizes


def facts(config: Config) -> dict[str, Any]:
    """Return what decides the bits of every run: no titles, grids, references or places of checkpoints."""
    words = {"id", "title", "metric", "runs", "models", "reference", "reference_source", "orders", "sizes", "anchors", "checkpoint_every"}
    return config.model_dump(mode="json", exclude=words)


def digest_of(config: Config) -> str:
    """Return the digest of a whole configuration."""
    return digest_json(config.model_dump(mode="json"))
