"""Files of quantized tensors: one .safetensors with packed codes, levels, and metadata that says how to read them back.

Keys: `<tensor>.codes` (element codes as the block packs them, blocked axis last) and `<tensor>.level.<level>` (unsigned codes).
Metadata: `emu_quantized_file`, JSON: version, emu (version that wrote it), recipes {recipe: {block, digest, tail}}, tensors {name: about},
skipped {name: reason}. A tensor without a name is called `array`. Files of version 2 are still read: recipe, block, digest and tail stand
for the whole file, and a checksum covers the bytes alone.
Not here: packing and the meaning of codes (emu.ops.quantized).
"""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from numpy.typing import NDArray

from emu.base.errors import EmuError, FileError
from emu.base.inputs import parse_json
from emu.files.recipes import distinct
from emu.files.tensors import TensorFile, open_tensors
from emu.files.writers import TensorWriter, tensor_writer
from emu.ops.quantized import Quantized, checksum, make_quantized, stored_axis, stored_shape, unpacked
from emu.spec import digest, get
from emu.spec.models import Recipe
from emu.spec.programs.types import extent_of

KEY = "emu_quantized_file"
VERSION = 3
EARLIER = 2  # still read


@dataclass(frozen=True)
class StoredTensor:
    """What the metadata says of one tensor.

    shape: of the source tensor.   codes_shape: of the codes before packing (longer where the recipe keeps its padding).
    axis, row_axis: as given to quantize.   source: format id of the source values.   levels: names, outermost first.
    random: key and stream of Philox4x32-10, for a recipe that draws.   signs: sign mask in hex, where one was given.
    recipe: its id; None: the file is of version 2.   sha256: of packed codes and levels, of all else that is said here and of the digest
    of the recipe's facts (sealed), compared whenever they are read; in version 2 of codes and levels alone (emu.ops.quantized.checksum).
    """

    shape: tuple[int, ...]
    codes_shape: tuple[int, ...]
    axis: int
    row_axis: int
    source: str
    levels: tuple[str, ...]
    random: Mapping[str, int] | None = None
    signs: str | None = None
    sha256: str = ""
    recipe: str | None = None


@dataclass
class StoredWriter:
    """An open file of quantized tensors. recipe: of a tensor for which put names none.   recipes: of each tensor written."""

    recipe: Recipe
    emu_version: str
    writer: TensorWriter
    metadata: dict[str, str]
    tensors: dict[str, Any] = field(default_factory=dict)
    recipes: dict[str, Recipe] = field(default_factory=dict)
    skipped: dict[str, str] = field(default_factory=dict)

    @classmethod
    @contextlib.contextmanager
    def open(cls, path: str | Path, recipe: Recipe, emu_version: str, force: bool = False) -> Iterator[StoredWriter]:
        """Open a new file; it appears whole when the block ends without an error. Raises: FileError."""
        if Path(path).suffix != ".safetensors":
            raise FileError(f"{path}: quantized tensors are written as .safetensors: use that suffix")
        metadata: dict[str, str] = {}
        with tensor_writer(path, force, metadata) as writer:
            stored = cls(recipe, emu_version, writer, metadata)
            yield stored
            metadata[KEY] = json.dumps(stored._about(), sort_keys=True)

    def put(
        self, name: str, packed: NDArray[Any], levels: Mapping[str, NDArray[Any]], about: StoredTensor, recipe: Recipe | None = None
    ) -> None:
        """Append one tensor: packed codes and the codes of its levels. Raises: FileError (a name twice)."""
        key = name or "array"
        self.writer.put(f"{key}.codes", packed)
        for level in about.levels:
            self.writer.put(f"{key}.level.{level}", levels[level])
        self.recipes[name] = used = recipe or self.recipe
        named = replace(about, recipe=used.id)
        self.tensors[name] = asdict(replace(named, sha256=sealed(checksum(packed, levels), named, used)))

    def add(self, name: str, found: Quantized, source: str, random: Mapping[str, int] | None = None, signs: str | None = None) -> None:
        """Append a quantized tensor. source, random, signs: as in StoredTensor. Raises: as put."""
        levels = {level.name: level.codes for level in found.levels}
        about = StoredTensor(found.shape, found.codes.shape, found.axis, found.row_axis, source, tuple(levels), random, signs)
        self.put(name, found.pack(), levels, about, found.recipe)

    def _about(self) -> dict[str, Any]:
        used = distinct(self.recipes.values())
        said = {recipe.id: {"block": recipe.facts.block, "digest": digest(recipe), "tail": recipe.facts.tail} for recipe in used}
        return {"version": VERSION, "emu": self.emu_version, "recipes": said, "tensors": self.tensors, "skipped": self.skipped}


class StoredFile:
    """A file of quantized tensors, read one tensor at a time; a context manager.

    recipes: tensor -> its recipe, with the facts the file was written under.   tensors: name -> StoredTensor.   skipped: name -> reason.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        if self.path.suffix != ".safetensors":
            raise FileError(f"{self.path}: is no file of emu quantize (.safetensors)")
        self.file: TensorFile = open_tensors(self.path)
        try:
            with whole_metadata(str(self.path)):
                about = _metadata(self.path)
                self.tensors = {name: tensor_of(entry, about) for name, entry in about["tensors"].items()}
                self.recipes = {name: recipe_of(self.path, about, tensor.recipe) for name, tensor in self.tensors.items()}
                self.skipped: dict[str, str] = dict(about["skipped"])
                self._check_keys()
        except BaseException:
            self._close()
            raise

    def read(self, name: str) -> tuple[NDArray[Any], dict[str, NDArray[Any]]]:
        """Return packed codes, and level -> codes, of one tensor. Raises: FileError (bytes that are not those that were written)."""
        key, about = name or "array", self.tensors[name]
        packed, levels = self.file.read(f"{key}.codes"), {level: self.file.read(f"{key}.level.{level}") for level in about.levels}
        fault = sha256_fault(checksum(packed, levels), about, self.recipes[name])
        if fault is not None:
            raise FileError(f"{self.path}: tensor {name}: {fault} are not those that were written: the file is damaged, quantize again")
        return packed, levels

    def quantized(self, name: str) -> Quantized:
        """Return one tensor as the Quantized that was written. Raises: FileError (arrays whose shapes contradict the metadata)."""
        packed, levels = self.read(name)
        about, recipe = self.tensors[name], self.recipes[name]
        try:
            codes = unpacked(packed, recipe, about.codes_shape, about.axis)
            found = make_quantized(codes, levels, recipe, about.shape, about.axis, about.row_axis)
            _check_shapes(found)
        except (ValueError, IndexError, KeyError) as error:
            raise FileError(f"{self.path}: tensor {name}: arrays and metadata contradict each other ({error}): quantize again") from None
        return found

    def _check_keys(self) -> None:
        present = {info.name for info in self.file.tensors}
        needed = {f"{name or 'array'}.codes" for name in self.tensors}
        needed |= {f"{name or 'array'}.level.{level}" for name, item in self.tensors.items() for level in item.levels}
        if present != needed:
            raise FileError(f"{self.path}: {min(present ^ needed)} is missing or unexpected: quantize again")

    def _close(self) -> None:
        self.file.__exit__(None, None, None)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._close()


@contextlib.contextmanager
def whole_metadata(what: str) -> Iterator[None]:
    """Make one FileError of what goes wrong in the block where metadata is damaged. what: the file, and the tensor where it is one's."""
    try:
        yield
    except EmuError:
        raise
    except (KeyError, TypeError, AttributeError, ValueError, ZeroDivisionError):
        raise FileError(f"{what}: its metadata is damaged: quantize again") from None


def _metadata(path: Path) -> dict[str, Any]:
    """Read the JSON of the metadata (the file itself was checked by its library)."""
    with path.open("rb") as stream:
        header = parse_json(stream.read(int.from_bytes(stream.read(8), "little")))
    try:
        about = parse_json(header["__metadata__"][KEY])
    except (KeyError, TypeError, ValueError):
        raise FileError(f"{path}: holds no metadata of emu quantize: it is another .safetensors file") from None
    check_version(path, about)
    return dict(about)


def check_version(path: Path, about: object) -> None:
    """Check that this emu reads the metadata of a file. Raises: FileError."""
    version = about.get("version") if isinstance(about, dict) else None
    if version not in (VERSION, EARLIER):
        raise FileError(f"{path}: is written in version {version}; this emu reads {EARLIER} and {VERSION}")


def recipe_of(path: Path, about: Mapping[str, Any], name: str | None) -> Recipe:
    """Return the recipe that wrote a tensor. name: what the entry of the tensor says of it; None: the file is of version 2.

    Raises: FileError (its facts changed), SpecError (unknown), KeyError, TypeError, ValueError where the metadata is damaged.
    """
    said, name = (about, about["recipe"]) if name is None else (about["recipes"][name], name)
    recipe: Recipe = get("recipe", name)
    if digest(recipe) != said["digest"]:
        raise FileError(f"{path}: was written under other facts of recipe {recipe.id}: load that spec (--spec) or quantize again")
    if said["block"] != recipe.facts.block:
        raise ValueError("the block is another one")
    return recipe


def block_said(about: object, name: str) -> object:
    """Return the block format that the metadata gives to a tensor; None: it gives none, or is of version 2."""
    try:
        return about["recipes"][about["tensors"][name]["recipe"]]["block"]  # type: ignore[index]
    except (KeyError, TypeError, IndexError):
        return None


def sealed(sha256: str, about: StoredTensor, recipe: Recipe) -> str:
    """Return the checksum of a tensor: of the checksum of its bytes, what is said of it, and the facts by which it is read."""
    said = json.dumps([digest(recipe), asdict(replace(about, sha256=sha256))], sort_keys=True)
    return hashlib.sha256(said.encode()).hexdigest()


def sha256_fault(sha256: str, about: StoredTensor, recipe: Recipe) -> str | None:
    """Return what is not as it was written, by the checksum of the bytes that are there; None: nothing."""
    if about.recipe is None:
        return None if sha256 == about.sha256 else "its bytes"
    return None if sealed(sha256, about, recipe) == about.sha256 else "its bytes or what is said of it"


def tensor_of(entry: Mapping[str, Any], about: Mapping[str, Any]) -> StoredTensor:
    """Return what the metadata says of one tensor. Raises: KeyError, TypeError, ValueError where it is damaged."""
    shape, codes_shape = stored_shape(entry["shape"]), stored_shape(entry["codes_shape"])
    if not shape or len(codes_shape) != len(shape):
        raise ValueError("codes and tensor have the same axes, one at least")
    axes = stored_axis(entry["axis"], shape), stored_axis(entry["row_axis"], shape)
    levels = tuple(entry["levels"])
    if not all(isinstance(text, str) for text in (entry["source"], entry["sha256"], *levels)):
        raise ValueError("names are texts")
    recipe = entry["recipe"] if about["version"] == VERSION else None
    return StoredTensor(shape, codes_shape, *axes, entry["source"], levels, entry["random"], entry["signs"], entry["sha256"], recipe)


def _check_shapes(found: Quantized) -> None:
    """Check that codes and levels have the shapes that the recipe gives to a tensor of this shape. Raises: ValueError, IndexError."""
    ndim, tile = len(found.shape), found.block.facts.shape
    axis, row_axis = found.axis % ndim, found.row_axis % ndim if ndim > 1 else -1
    padded = list(found.shape)
    for place, length in ((axis, tile[1]), (row_axis, tile[0])):
        if place >= 0:
            padded[place] = -(-padded[place] // length) * length
    if list(found.codes.shape) != (padded if found.recipe.facts.tail == "zero_pad_keep" else list(found.shape)):
        raise ValueError(f"codes of shape {list(found.codes.shape)} for a tensor of {list(found.shape)}")
    for facts, level in zip(found.block.facts.levels, found.levels, strict=True):
        shared = extent_of(facts.granularity, found.block)
        wanted = list(padded)
        for place, length in ((axis, shared.columns), (row_axis, shared.rows)):
            if place >= 0:
                wanted[place] = -(-wanted[place] // length) if length else 1
        if list(level.codes.shape) != ([] if facts.granularity == "tensor" else wanted):
            raise ValueError(f"level {level.name} has shape {list(level.codes.shape)}, not {wanted}")
