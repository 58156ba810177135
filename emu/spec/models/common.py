"""What every spec file has: the frame, the closed forms of numbers, status and sources."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any, ClassVar, Literal, Self, get_args

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints

from emu.base.caches import lazy

Status = Literal["standard", "vendor", "source-code", "paper", "reported", "measured", "proposed", "inferred", "unknown"]
YesNo = Literal["yes", "no"]
ID = r"^[a-z0-9_]+$"
NAME = r"^[a-z][a-z0-9_]*$"
HEX = r"^0x[0-9A-F]+$"
HEX_STRING = r"^[0-9A-F ]+$"
EXACT = r"^(-?[0-9]+(/[1-9][0-9]*)?|-?2\^-?[0-9]+|nan|[+-]inf)$"
Id = Annotated[str, StringConstraints(pattern=ID)]
Name = Annotated[str, StringConstraints(pattern=NAME)]
Hex = Annotated[str, StringConstraints(pattern=HEX)]
HexString = Annotated[str, StringConstraints(pattern=HEX_STRING)]


@dataclass(frozen=True)
class Names:
    """Marks an id, or ids, as the names of spec objects of a kind. unless: the word that stands there for no object."""

    kind: str
    unless: str = ""


FormatId = Annotated[Id, Names("format")]
RoundingId = Annotated[Id, Names("rounding")]
BlockId = Annotated[Id, Names("block")]
LayoutId = Annotated[Id, Names("layout")]
TransformId = Annotated[Id, Names("transform")]
RecipeId = Annotated[Id, Names("recipe")]
Reference = tuple[str, str, tuple[str | int, ...]]  # kind, name, path in the file
DIGITS = 400  # of a whole number; those of binary64 have 309
POWER = 2000  # of 2^k
Side = Annotated[int, Field(ge=1, le=4096)]  # a tensor is padded to whole tiles: one of 4096 x 4096 codes holds 16 million
Count = Annotated[int, Field(ge=1, le=1 << 20)]  # products of an instruction, each an operand in memory; hardware has some hundred
Width = Annotated[int, Field(ge=0, le=1 << 14)]  # exact sums of binary64 products with two binary64 scales need 8,400 bits
Exponent = Annotated[int, Field(ge=-(1 << 14), le=1 << 14)]  # of such products: they lie between 2^-4296 and 2^4096


def check_number(text: str) -> str:
    """Return an exact number, or another text, as it is. Raises: ValueError for more digits than any number here needs."""
    if text[:1] in "-0123456789" and not text.startswith("0x"):
        base, power, exp = text.partition("^")
        if power and (len(exp) > 5 or abs(int(exp)) > POWER):
            raise ValueError(f"2^k takes k from -{POWER} to {POWER}")
        if any(len(part) > DIGITS for part in base.lstrip("-").split("/")):
            raise ValueError(f"a number has at most {DIGITS} digits: write 2^k, or a bit pattern")
    elif text.startswith("0x") and len(text) > 2 + 16:
        raise ValueError("a bit pattern has at most 64 bits")
    return text


Exact = Annotated[str, StringConstraints(pattern=EXACT), AfterValidator(check_number)]
Overflow = Literal["saturate", "inf", "nan", "ieee_inf", "ieee_nan", "wrap"]


class Part(BaseModel):
    """Base of every model: frozen, strict, unknown keys refused."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, ignored_types=(cached_property,))
    marks: ClassVar[dict[str, Names | None]] = {}  # field -> what it names

    @classmethod
    def __pydantic_init_subclass__(cls, **_options: Any) -> None:
        """Look up once which fields name objects."""
        cls.marks = {key: _mark((field.annotation, *field.metadata)) for key, field in cls.model_fields.items()}


def _mark(node: Any) -> Names | None:
    """Return the mark inside an annotation, or a tuple of them; that of a field inside another model is not its own."""
    inner = node if isinstance(node, tuple) else get_args(node)
    return node if isinstance(node, Names) else next((found for item in inner if (found := _mark(item)) is not None), None)


def _references(value: Any, mark: Names | None, path: tuple[str | int, ...]) -> Iterator[Reference]:
    """Yield the objects that a value of a file names, whatever it holds."""
    if isinstance(value, Part):
        for key, inner in value.marks.items():
            yield from _references(getattr(value, key), inner, (*path, key))
    elif isinstance(value, tuple | dict):
        for place, item in value.items() if isinstance(value, dict) else enumerate(value):
            yield from _references(item, mark, (*path, place))
    elif mark is not None and isinstance(value, str) and value != mark.unless:
        yield mark.kind, value, path


class SourceRef(Part):
    """Where a fact was read."""

    ref: Id = Field(description="id of an entry of sources.yaml")
    where: str = Field(description="section, table, file or function")
    facts: tuple[str, ...] = Field(default=(), description="the keys this entry speaks of; empty: all")
    status: Status | None = Field(default=None, description="status of those facts where it differs from the file's")


class OpenPoint(Part):
    """A fact that nobody knows yet; what depends on it is refused or masked."""

    what: str = Field(description="the unknown")
    until: str = Field(description="what would settle it")
    facts: tuple[str, ...] = Field(
        default=(),
        description="the keys of the facts that it leaves open, though the object says them: what depends on them is masked "
        "(today `sum` of a transform, `unused_bits` of a datapath)",
    )


class SpecObject(Part):
    """The frame of one spec file."""

    kind: str = Field(description="the folder the file lies in")
    id: Id = Field(description="the file name without .yaml")
    aliases: tuple[str, ...] = Field(default=(), description="other people's names, accepted on input and never printed")
    title: str = Field(description="one line for a reader")
    status: Status = Field(description="the weakest status of the facts")
    open: tuple[OpenPoint, ...] = Field(default=(), description="what the sources do not decide")
    sources: tuple[SourceRef, ...] = Field(description="where the facts were read")

    def __repr__(self) -> str:
        """Say kind, id, title and status in one line; `emu show` prints the facts."""
        return f"<{self.kind} {self.id}: {self.title} (status {self.status}{', open points' if self.open else ''})>"

    __str__ = __repr__

    def facts_json(self) -> Any:
        """Return the facts alone as plain JSON data (no titles, sources, worked examples)."""
        return self.model_dump(mode="json", by_alias=True, include={"facts"}, exclude_none=True)["facts"]

    def references(self) -> tuple[Reference, ...]:
        """Return (kind, name, path in the file) of every spec object the facts name, in the order of the model."""
        return tuple(_references(getattr(self, "facts", None), None, ("facts",)))

    @property
    def accepted(self) -> tuple[str, ...]:
        """Every name but the id that finds the object."""
        return self.aliases

    def __eq__(self, other: object) -> bool:
        """Two objects are equal when ids and facts are, by which caches keep what follows from them; not titles, sources, examples."""
        return isinstance(other, type(self)) and (self.id, self.facts_digest) == (other.id, other.facts_digest)

    def __hash__(self) -> int:
        return hash(self.facts_digest)

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """Return a copy with other fields; its digest is taken anew."""
        copied = super().model_copy(update=update, deep=deep)
        copied.__dict__.pop("facts_digest", None)
        return copied

    @lazy
    def facts_digest(self) -> str:
        """sha256 of this file's facts in canonical JSON; `registry.digest` also covers what they refer to."""
        return digest_json([self.kind, self.facts_json()])


def digest_json(data: Any) -> str:
    """Return the sha256 of data in canonical JSON (sorted keys, no spaces, ASCII)."""
    return hashlib.sha256(json.dumps(data, sort_keys=True, separators=(",", ":")).encode("ascii")).hexdigest()
