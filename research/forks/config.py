"""What is forked, measured and compared, stated before the runs: a strict YAML file, shipped ones in config/. Not here: the runs."""

from __future__ import annotations

from fractions import Fraction
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any, Final, Literal

from pydantic import Field, ValidationError

from emu.base.errors import FileError, SpecError
from emu.spec import get, load_spec, names
from emu.spec.faults import first_fault
from emu.spec.loader import Document, read
from emu.spec.models import Training, Transform
from emu.spec.models.common import Id, Part, digest_json
from emu.spec.training import GEMMS
from research.train.config import BLOCK, Corpus, Count, Decoder, Number, Optimizer

_ROOM: Final = "research.forks"


class Phase(Part):
    """A stretch of training."""

    steps: Count = Field(description="optimizer steps")
    optimizer: Optimizer = Field(description="AdamW and its learning rate; a fork takes over the moments of the run that it leaves")


class Grid(Part):
    """Forks: every model x seed x fork x training x draw."""

    part: Literal["primary", "secondary", "ablation", "length"] = Field(description="what they are for")
    models: tuple[Id, ...] = Field(min_length=1, description="names of models of this file")
    trainings: tuple[Id, ...] = Field(min_length=1, description="ids of spec/training, or of the ablations beside this file")
    seeds: tuple[int, ...] = Field(min_length=1, description="one independent BF16 run each")
    forks: tuple[int, ...] = Field(min_length=1, description="orders of the batches after the fork")
    draws: tuple[int, ...] = Field(default=(0,), description="sets of signs and random bits; BF16 has none: draw 1 starts one ulp apart")


class Comparison(Part):
    """A claim about two trainings, outcome."""

    figure: Literal["kl", "gap", "gradient"] = Field(
        description="kl: ratio of divergences; gap: difference of losses; gradient: ratio of the NMSE of gradients, exact forward"
    )
    better: Id = Field(description="the training whose figure is to be smaller")
    worse: Id = Field(description="the other one")
    claim: str = Field(description="what is claimed, and where")


class Published(Part):
    """A published ratio of loss gaps."""

    ratio: Number = Field(gt=0, description="gap of UFP4 over gap of the E2M1 baseline")
    what: str = Field(description="of which model")


class Forks(Part):
    """One experiment."""

    kind: Literal["forks"] = Field(description="what this file is")
    id: Id = Field(description="name of the experiment, and of its folder of runs")
    title: str = Field(description="one line for a reader")
    corpus: Corpus = Field(description="the text")
    batch: Count = Field(description="sequences of a step")
    context: int = Field(multiple_of=BLOCK, gt=0, description="tokens of a sequence")
    held_out: Count = Field(description="sequences on which losses and divergences are measured, spread over the validation text")
    base: Phase = Field(description="the BF16 runs that are forked")
    fork: Phase = Field(description="what follows, under each training")
    lengths: tuple[int, ...] = Field(default=(), description="steps at which forks of the part `length` are measured, at a constant rate")
    models: dict[Id, Decoder] = Field(min_length=1, description="sizes")
    grids: tuple[Grid, ...] = Field(min_length=1, description="all forks, in the order in which they are run")
    primary: Comparison = Field(description="the one endpoint")
    secondary: tuple[Comparison, ...] = Field(default=(), description="tested with Holm's correction")
    ablations: tuple[Comparison, ...] = Field(default=(), description="shown as intervals, not tested")
    published: tuple[Published, ...] = Field(default=(), description="gaps of larger models, beside ours")


def shipped() -> tuple[str, ...]:
    """Return the names of the shipped configurations, sorted."""
    return tuple(sorted(item.name.removesuffix(".yaml") for item in (files(_ROOM) / "config").iterdir() if item.name.endswith(".yaml")))


def load(name: str | Path) -> Forks:
    """Return the configuration of a file, or of a shipped name. Raises: FileError (no such file), SpecError with file and line."""
    if str(name) in shipped():
        with as_file(files(_ROOM) / "config" / f"{name}.yaml") as path:
            return _parsed(read(path, f"config/{name}.yaml"))
    if not Path(name).is_file():
        raise FileError(f"{name}: no such file and no shipped configuration: give a file or one of {', '.join(shipped())}")
    return _parsed(read(Path(name)))


def _parsed(document: Document) -> Forks:
    try:
        found = Forks.model_validate(document.data)
    except ValidationError as error:
        raise SpecError(first_fault(error, Forks, document)) from None
    for place, grid in enumerate(found.grids):
        for name in grid.models:
            if name not in found.models:
                where = document.where(("grids", place, "models"))
                raise SpecError(f"{where}: model {name} is not in this file: one of {', '.join(found.models)}")
    return found


def add_ablations() -> None:
    """Make the trainings of research/forks/spec known, which only this experiment uses. Raises: SpecError."""
    with as_file(files(_ROOM) / "spec") as folder:
        load_spec(folder)


def base_facts(config: Forks) -> dict[str, Any]:
    """Return what decides the bits of a BF16 run, beside its model and seed."""
    return config.model_dump(mode="json", include={"batch", "context", "base"})


def fork_facts(config: Forks) -> dict[str, Any]:
    """Return what decides the bits of a fork, beside its run, training and draws; and of what is measured on it."""
    return config.model_dump(mode="json", include={"batch", "context", "base", "fork", "lengths", "held_out"})


def digest_of(config: Forks) -> str:
    """Return the digest of a whole configuration."""
    return digest_json(config.model_dump(mode="json"))


def training_of(name: str) -> Training:
    """Return a training of the spec or of the ablations. Where both rotations of a product together scale by 2, the second is halved.

    A rotation scales by a power of two, so that of 32 or 128 elements is not orthonormal; with half of it on the other side both cancel.
    """
    found: Training = get("training", name)
    changed = {}
    for gemm in GEMMS:
        pair = getattr(found.facts, gemm)
        second = list(type(pair).model_fields)[1]
        operand = getattr(pair, second)
        if operand.transform != "none" and (half := _half(get("transform", operand.transform))) is not None:
            changed[gemm] = pair.model_copy(update={second: operand.model_copy(update={"transform": half})})
    return found.model_copy(update={"id": f"{found.id}_balanced", "facts": found.facts.model_copy(update=changed)}) if changed else found


def _half(rotation: Transform) -> str | None:
    """Return the name of the rotation with half the scale, for one that scales products by 2; None for one that is orthonormal."""
    facts = rotation.facts
    if Fraction(facts.scale) ** 2 * facts.size != 2:
        return None
    wanted = facts.model_copy(update={"scale": str(Fraction(facts.scale) / 2)})
    return next(name for name in names("transform") if get("transform", name).facts == wanted)
