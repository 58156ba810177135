"""Model of spec/checkpoint: how files hold block-scaled tensors. How their values were made is a recipe; what they mean is a block."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, StringConstraints, model_validator

from emu.spec.models.common import BlockId, Exact, HexString, Id, LayoutId, Name, Names, Part, RecipeId, Side, SpecObject, YesNo

Dtype = Literal["I8", "U8", "U16", "U32", "F8_E4M3", "F8_E5M2", "F8_E8M0", "BF16", "F32"]
WORDS = {"I8": 1, "U8": 1, "U16": 2, "U32": 4, "F8_E4M3": 1, "F8_E5M2": 1, "F8_E8M0": 1, "BF16": 2, "F32": 4}  # bytes of an entry, by type
Text = Annotated[str, StringConstraints(min_length=1)]
ProductFormat = Annotated[Id, Names("format", unless="result")]


class StoredCodes(Part):
    """The element codes, in a tensor of their own."""

    suffixes: tuple[Text, ...] = Field(min_length=1, description="what follows the name of the module; the file uses one of them")
    dtypes: tuple[Dtype, ...] = Field(min_length=1, description="words of the safetensors header that it may bear")
    grouped: YesNo = Field(default="no", description="yes: the last axis is one block, the axis before it counts blocks")


class StoredLevel(Part):
    """One level of the block, in a tensor of its own."""

    suffixes: tuple[Text, ...] = Field(min_length=1, description="what follows the name of the module; the file uses one of them")
    dtypes: tuple[Dtype, ...] = Field(min_length=1, description="words of the safetensors header that it may bear")
    level: Name = Field(description="name of the level in the block")
    meaning: Literal["scale", "multiplier", "divisor", "amax"] = Field(
        description="scale: of a block; else what the one number of the tensor is: multiplied, divided by, or the maximum itself"
    )


class Record(Part):
    """Levels and codes of some blocks side by side, levels first: one unit of a GGUF tensor."""

    type: Text = Field(description="name of the tensor type in the file")
    elements: Side = Field(description="elements of a unit; its bytes follow from the block")
    number: int = Field(ge=0, description="number of the tensor type in the file")
    suffix: str = Field(default="", description="what follows the name of the module")


class Declared(Part):
    """A statement of the file itself."""

    where: Literal["config", "header", "tensor"] = Field(
        description="a JSON file beside the tensors, the metadata of the file that holds them, or a tensor whose bytes are JSON"
    )
    keys: tuple[Text, ...] = Field(
        min_length=1, description="the way to the entry; * for any key; of a tensor first what follows the name of the module in its name"
    )
    words: tuple[Text, ...] = Field(min_length=1, description="what stands there")


class Profile(Part):
    """An order of operations by which the library reads values back."""

    recipe: RecipeId = Field(description="recipe that has the profile")
    profile: Name = Field(description="one of its dequantize profiles")


class WrittenEntry(Part):
    """One entry of a JSON object; one of word, number, numbers, words, truth, sides, empty, nothing is what stands there."""

    keys: tuple[Text, ...] = Field(min_length=1, description="the way to the entry")
    word: Text | None = Field(default=None, description="a text")
    number: int | None = Field(default=None, ge=0, description="a number")
    numbers: tuple[int, ...] | None = Field(default=None, description="a list of numbers")
    words: tuple[Text, ...] | None = Field(default=None, description="a list of texts")
    truth: YesNo | None = Field(default=None, description="true or false")
    sides: Literal["yes"] | None = Field(default=None, description="of a weight: how many rows and columns of it share a scale")
    empty: Literal["yes"] | None = Field(default=None, description="an object without entries")
    nothing: Literal["yes"] | None = Field(default=None, description="the word null of JSON")

    @model_validator(mode="after")
    def _one(self) -> WrittenEntry:
        given = (self.word, self.number, self.numbers, self.words, self.truth, self.sides, self.empty, self.nothing)
        if given.count(None) != len(given) - 1:
            raise ValueError("give one of word, number, numbers, words, truth, sides, empty, nothing")
        return self


class WrittenHeader(Part):
    """What the metadata in every file's header says: under the name of each tensor a JSON object, as text, and a list of these names."""

    weight: tuple[WrittenEntry, ...] = Field(min_length=1, description="entries of the object of a quantized tensor")
    other: tuple[WrittenEntry, ...] = Field(min_length=1, description="entries of the object of another tensor")
    names: Text = Field(description="key of the list; names without a dot, which belong to no module, are not listed")


class Written(Part):
    """What a writer of this store puts beside the tensors, so that its library knows the files for its own: weights alone are quantized."""

    file: Literal["config.json", "hf_quant_config.json"] | None = Field(
        default=None,
        description="JSON file that says so; other entries of it are kept; absent: the metadata of the .gguf file itself says it",
    )
    entries: tuple[WrittenEntry, ...] = Field(min_length=1, description="what it says")
    ignored: tuple[Text, ...] | None = Field(
        default=None, min_length=1, description="the way to the list of modules whose weights stay as they are; absent: there is none"
    )
    recipe: RecipeId | None = Field(
        default=None, description="recipe by which its library quantizes; absent: not known, so whoever quantizes for the store names one"
    )
    read_by: tuple[Id, ...] = Field(
        default=(), description="sources (of those of the file) whose library was run on what emu wrote, and gave every value"
    )
    header: WrittenHeader | None = Field(default=None, description="what the header's metadata says; absent: it says nothing of tensors")
    factor_shape: Literal["scalar", "vector", "matrix"] = Field(
        default="scalar", description="shape of the one number of a tensor: [], [1], or [1, 1]"
    )


def _no_word(item: WrittenEntry) -> bool:
    return len(item.keys) != 1 or (item.word is None and item.number is None)


class CheckpointFacts(Part):
    """Names, types and order of the stored numbers."""

    container: Literal["safetensors", "gguf"] = Field(description="kind of file")
    blocks: tuple[BlockId, ...] = Field(
        min_length=1, description="block formats that it holds under these names; the first one unless told"
    )
    packing: Literal["low_nibble_first", "high_nibble_first", "low_bits_first", "halves", "none"] = Field(
        description="low_nibble_first, high_nibble_first: codes of 4 bits, two in a byte; low_bits_first: of another width, one row of "
        "bits that begins in the lowest one of the first byte (6 bits: four codes in three bytes); halves: byte j of a block holds element "
        "j in the low nibble, element j + half in the high one; none: each code in a byte of its own"
    )
    codes: StoredCodes | None = Field(default=None, description="element codes, where they are a tensor of their own")
    levels: tuple[StoredLevel, ...] = Field(
        default=(), description="levels, where they are tensors of their own; beside a record those of the whole tensor"
    )
    record: Record | None = Field(default=None, description="unit of a tensor that holds both")
    scale_layouts: tuple[LayoutId, ...] = Field(min_length=1, description="orders in which the scales may lie")
    nan_scale: Literal["nan", "zero", "number", "refused"] = Field(
        description="how the library reads a scale code that the format calls NaN; refused: as none of these, so nobody may write it"
    )
    high_bit: Literal["none", "refused", "ignored", "flag"] = Field(description="bit 7 of a scale of 7 bits")
    companions: tuple[Text, ...] = Field(default=(), description="suffixes of further tensors that belong to a weight and carry none of it")
    zeros: tuple[Text, ...] = Field(
        default=(), description="suffixes of further tensors, which the library subtracts from the codes: only zero bytes may stand there"
    )
    weights: tuple[str, ...] = Field(min_length=1, description="what follows the name of the module in a file that is not quantized")
    declared: tuple[Declared, ...] = Field(default=(), description="statements by which the file names its store; any of them is enough")
    told_by: Literal["names", "statement"] = Field(
        default="names", description="statement: names and types are those of other stores too, so only a file that says it is of this one"
    )
    swizzle_key: Text | None = Field(default=None, description="key of the header's metadata that says whether the scales lie in tiles")
    described_by: Text | None = Field(
        default=None,
        description="key of the header's metadata under which emu quantize says shape, axis and checksum of each weight",
    )
    sides_key: tuple[Text, ...] | None = Field(
        default=None, min_length=1, description="the way, in a JSON file beside the tensors, to the sides of a block; * for any key"
    )
    group_keys: tuple[tuple[Text, ...], ...] = Field(
        default=(),
        description="ways, in a JSON file beside the tensors, to the number of elements that share a scale; * for any key, where one of "
        "several that is that number is enough",
    )
    by_module: YesNo = Field(
        default="no",
        description="yes: beside an entry of declared or group_keys may stand an object under the name of a module, whose entry of the "
        "same name holds for that module in its place",
    )
    edges: Literal["cut"] | None = Field(
        default=None, description="cut: the last block of a row and of a column may hold fewer elements; the bytes have no padding"
    )
    dequantize: tuple[Profile, ...] = Field(default=(), description="how the library reads values back")
    product: ProductFormat | None = Field(
        default=None,
        description="of a store of one level: the library rounds code and scale to this type, multiplies in it, and rounds the product to "
        "the type that is asked for, each to nearest even; result: in the type that is asked for; absent: dequantize says it",
    )

    write: Written | None = Field(default=None, description="what a writer puts beside the tensors; absent: not known, so nobody writes it")

    @model_validator(mode="after")
    def _parts(self) -> CheckpointFacts:
        if (self.record is None) == (self.codes is None):
            raise ValueError("give either codes and levels, or a record")
        if (self.record is not None) != (self.container == "gguf"):
            raise ValueError("a record belongs to a gguf file, tensors for codes and levels to safetensors")
        if self.record is not None and any(level.meaning == "scale" for level in self.levels):
            raise ValueError("a record holds the scales: levels beside it are numbers of the whole tensor")
        if self.write is not None and (self.write.file is None) != (self.container == "gguf"):
            raise ValueError("write: a JSON file stands beside safetensors, the words of a gguf file are in it")
        if self.write is not None and self.container == "gguf" and any(_no_word(item) for item in self.write.entries):
            raise ValueError("write: an entry of a gguf file is one key and a word or a number")
        if self.told_by == "statement" and not self.declared:
            raise ValueError("told_by: a statement tells it, and declared lists none")
        if self.described_by is not None and (self.codes is None or self.told_by != "statement"):
            raise ValueError("described_by: belongs to codes and levels of a file that states its store (told_by: statement)")
        names = [level.level for level in self.levels]
        if len(set(names)) != len(names):
            raise ValueError("levels: a level is stored twice")
        return self


class FileTensor(Part):
    """What the header of a file says of one tensor."""

    name: str = Field(description="its name")
    type: str = Field(description="its type, in the words of the file")


class NamesExample(Part):
    """Tensors of a file that this store must recognise."""

    tensors: tuple[FileTensor, ...] = Field(min_length=1, description="tensors of one module")
    finds: str = Field(description="the weight's name in a file that is not quantized")
    why: str | None = Field(default=None, description="what the row shows")


class StoredExample(Part):
    """Stored bytes of one unit, and the value of one element."""

    stored: dict[str, HexString] = Field(description="bytes as the file has them: codes and each level by name, or record")
    block: Id | None = Field(default=None, description="block format; absent: the first one")
    lane: int = Field(ge=0, description="which element of the unit")
    value: Exact | Literal["-0"] = Field(description="its exact value")
    why: str | None = Field(default=None, description="what the row shows")


class Checkpoint(SpecObject):
    """One way to store block-scaled tensors in files."""

    kind: Literal["checkpoint"] = Field(description="the folder the file lies in")
    facts: CheckpointFacts = Field(description="names, types and order")
    expect: tuple[NamesExample | StoredExample, ...] = Field(default=(), description="hand-checked names and values")
