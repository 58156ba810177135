"""Objects of most kinds out of a seed, which no file has: to write them as descriptors and read them again."""

from __future__ import annotations

from hashlib import sha256
from random import Random
from typing import Any, TypeVar

from pydantic import ValidationError

from emu.base.errors import EmuError
from emu.engines.c_ref._c import ffi, lib
from emu.engines.c_ref.descriptors import format_descriptor, policy_descriptor
from emu.spec import derive
from emu.spec.models import Block, Datapath, Format, Layout, Policy, Rounding, SpecObject, Transform
from emu.spec.registry import get

Thing = TypeVar("Thing", bound=SpecObject)
CHOICES = ("keep", "next", "to_even_code", "to_odd_code")
OVERFLOWS = ("saturate", "inf", "nan", "ieee_inf", "ieee_nan", "wrap")
OUTCOMES = ("max", "nan", "inf", "zero", "negative_zero", "smallest", "open", "refuse", "0x0", "0x1")


def drawn_transform(seed: int) -> Transform:
    """Return a rotation that no file has."""
    rng = Random(f"transform {seed}")
    size = 1 << rng.randint(1, 8)
    facts = {
        "matrix": "hadamard_sylvester", "size": size, "sum": rng.choice(("exact", "sequential", "butterfly")),
        "scale": f"2^{rng.randint(-6, 2)}", "signs": f"0x{rng.getrandbits(size):X}", "signs_operand": "yes",
        "sum_format": rng.choice(("fp32", "fp16")), "result": rng.choice(("bf16", "fp16", "fp32")),
    }  # fmt: skip
    return _model(Transform, f"drawn_{seed}", facts)


def drawn_layout(seed: int) -> Layout:
    """Return an order of codes that no file has: each axis cut into digits, all of them shuffled."""
    rng = Random(f"layout {seed}")
    digits: list[dict[str, Any]] = []
    for axis in ("row", "idx"):
        step = 1
        for _ in range(rng.randint(0, 3)):
            count = rng.randint(2, 8)
            digits.append({"axis": axis, "step": step, "count": count})
            step *= count
        digits.append({"axis": axis, "step": step})
    rng.shuffle(digits)
    facts = {"holds": rng.choice(("elements", "scales")), "code_bits": rng.choice((4, 8)), "digits": tuple(digits)}
    return _model(Layout, f"drawn_{seed}", facts)


def renamed(name: str, new: str, seed: int | None = None) -> Datapath:
    """A datapath under another id; seed: with another alignment, rounding or flush."""
    model: Datapath = get("datapath", name)
    facts = model.facts
    if seed is not None:
        rng = Random(seed)
        width = facts.align.fraction_bits if isinstance(facts.align.fraction_bits, str) else rng.randint(5, 40)
        align = facts.align.model_copy(update={"fraction_bits": width})
        mode, overflow = rng.choice(("rne", "rz", "rna", "odd", "rd")), rng.choice(("inf", "saturate"))
        rounds = facts.round.model_copy(update={"mode": mode, "overflow": overflow})
        kept = facts.subnormal.model_copy(update={part: rng.choice(("keep", "flush")) for part in ("elements", "c")})
        facts = facts.model_copy(update={"align": align, "round": rounds, "subnormal": kept})
    return model.model_copy(update={"id": new, "facts": facts})


def drawn_block(seed: int) -> Block:
    """Return a block format that no file has: a tile of one row or several, and up to four levels."""
    rng = Random(f"block {seed}")
    shape = (rng.choice((1, 1, 2, 5, 16)), rng.choice((1, 2, 6, 8, 16, 32, 48)))
    whole, parts = ("block", "tile")[shape[0] > 1], [part for part in range(1, shape[1] + 1) if shape[1] % part == 0]
    extents: list[Any] = ["tensor", "row", whole, {"sub": rng.choice(parts)}]
    levels = tuple(
        {"name": f"level_{number}", "format": rng.choice(("fp32", "e8m0", "ue4m3", "bf16")), "granularity": extent, "meaning": "multiply"}
        for number, extent in enumerate(extents)
        if rng.random() < 0.6
    )
    element = {"format": rng.choice(("e2m1", "e1m2", "int4", "e4m3", "e3m2", "nf4"))}
    facts = {"element": element, "shape": shape, "packing": "none", "scale_layout": "row_major", "levels": levels}
    return _model(Block, f"drawn_{seed}", facts)


class Loaded:
    """A library and the memory it lies in."""

    def __init__(self, text: str, room: int | None = None) -> None:
        data = text.encode("latin-1")
        size, library = ffi.new("size_t *"), ffi.new("const emu_library **")
        self.fault = ffi.new("emu_fault *")
        assert lib.emu_measure_descriptor(data, len(data), size) == lib.EMU_OK
        self.memory = ffi.new("char[]", size[0])
        self.error = lib.emu_load_descriptor(data, len(data), self.memory, size[0] if room is None else room, library, self.fault)
        self.library = library[0]

    @property
    def line(self) -> str:
        """Line and text of the fault."""
        return f"{self.fault.line}: {ffi.string(self.fault.text).decode()}"

    def written(self) -> str:
        """What C writes of it."""
        assert self.error == lib.EMU_OK, self.line
        size = ffi.new("size_t *")
        assert lib.emu_write_descriptor(self.library, ffi.NULL, 0, size) == lib.EMU_ERROR_SPACE
        text = ffi.new("char[]", size[0])  # of exactly its size
        assert lib.emu_write_descriptor(self.library, text, size[0], size) == lib.EMU_OK
        return bytes(ffi.buffer(text, size[0])).decode("ascii")

    def found(self, kind: str, *ids: str) -> Any:
        """The object of an id."""
        assert self.error == lib.EMU_OK, self.line
        return getattr(lib, f"emu_find_{kind}_in")(self.library, *(name.encode() for name in ids))


def sealed(text: str) -> str:
    """Return a descriptor whose lines were changed with the digest that its last line must hold."""
    above = text[: text.rindex("\nend ") + 1]
    return f"{above}end {sha256(above.encode('latin-1')).hexdigest()}\n"


def _model(model: type[Thing], name: str, facts: Any) -> Thing:
    kind = model.__name__.lower()
    return model.model_validate({"kind": kind, "id": name, "title": "drawn", "status": "proposed", "sources": (), "facts": facts})


def _float(rng: Random) -> dict[str, Any]:
    exp, frac, signed = rng.randint(1, 8), rng.randint(0, 10), rng.random() < 0.7
    top, sign = (1 << (exp + frac)) - 1, 1 << (exp + frac)
    ieee = exp > 1 and frac > 0 and rng.random() < 0.4
    subnormals = rng.random() < 0.85
    listed = [(), (top, top | sign), *([(sign,)] if subnormals else [])] if signed else [(), (top,)]
    codes = () if ieee else rng.choice(listed)
    return {
        "class": "float", "signed": "yes" if signed else "no", "exp_bits": exp, "frac_bits": frac, "bias": rng.randint(-3, (1 << exp) + 3),
        "subnormals": "yes" if subnormals else "no", "inf": "ieee" if ieee else "none",
        "nan": "ieee" if ieee else tuple(f"0x{code:X}" for code in codes) or "none",
        "neg_zero": "yes" if signed and subnormals and codes != (sign,) else "no",
        "unused_high_bits": rng.choice((0, 0, 0, 1, 2)),
    }  # fmt: skip


def _integer(rng: Random) -> dict[str, Any]:
    signed = rng.choice(("twos_complement", "sign_magnitude", "no"))
    return {"class": "integer", "signed": signed, "bits": rng.randint(2, 10), "unit_exp": rng.randint(-9, 9)}


def _exponent(rng: Random) -> dict[str, Any]:
    bits = rng.randint(2, 10)
    nan = rng.choice(("none", (f"0x{(1 << bits) - 1:X}",)))
    return {"class": "exponent", "signed": "no", "bits": bits, "bias": rng.randint(-5, 200), "nan": nan}


def _codebook(rng: Random) -> dict[str, Any]:
    bits = rng.randint(2, 5)
    unit = rng.choice((1, 4, 64))
    values = sorted({rng.randint(-200, 200) for _ in range(4 << bits)} - {0})[: (1 << bits) - 1]
    values = sorted([0, *values])
    values += [values[-1] + 1 + i for i in range((1 << bits) - len(values))]
    tie = rng.choice(("even_code", "lower", "away"))
    return {"class": "codebook", "bits": bits, "tie": tie, "values": tuple(_text(value, unit) for value in values)}


def _text(value: int, unit: int) -> str:
    return f"{value}/{unit}" if unit > 1 else str(value)


def drawn_format(seed: int) -> Format:
    """Return a format that the C reference takes; the same for the same seed."""
    rng = Random(f"format {seed}")
    while True:
        try:
            fmt = _model(Format, f"drawn_{seed}", rng.choice((_float, _float, _float, _integer, _exponent, _codebook))(rng))
            format_descriptor(fmt)
            derive.codes(fmt)
        except (ValidationError, EmuError, ValueError):
            continue
        return fmt


def drawn_rounding(seed: int) -> Rounding:
    """Return a rounding, sometimes one that draws random integers."""
    rng = Random(f"rounding {seed}")

    def part() -> dict[str, str]:
        return {"zero": "keep"} | {name: rng.choice(CHOICES) for name in ("less_than_half", "half", "more_than_half")}

    facts: dict[str, Any] = {
        "beyond_max": {sign: rng.choice(("away", "max", "odd_code")) for sign in ("positive", "negative")},
        "random": "none",
    }
    form = rng.choice(("magnitude", "signs", "draws"))
    if form == "draws":
        facts |= {
            "random": {"per_element": rng.randint(1, 32)},
            "sees_sign": "no",
            "add": rng.choice(("add", "cmp", "half", "te_fma", "nearest")),
        }
    elif form == "signs":
        facts |= {"sees_sign": "yes", "positive": part(), "negative": part()}
    else:
        facts |= {"sees_sign": "no", "magnitude": part()}
    return _model(Rounding, f"drawn_{seed}", facts)


def drawn_policy(seed: int, fmt: Format) -> Policy:
    """Return a policy of one format."""
    rng = Random(f"policy {seed}")

    def pair() -> dict[str, str]:
        return {sign: rng.choice(OUTCOMES) for sign in ("positive", "negative")}

    while True:
        entry: dict[str, Any] = {"overflow": rng.choice(OVERFLOWS), "nan": pair()}
        entry |= {name: pair() for name in ("inf", "zero") if rng.random() < 0.5}
        entry |= {"negative": rng.choice(OUTCOMES)} if rng.random() < 0.5 else {}
        entry |= {"negative_of": "rounded"} if "negative" in entry and rng.random() < 0.3 else {}
        entry |= {"overflow_nan": pair()} if entry["overflow"] in ("nan", "ieee_nan") else {}
        try:
            policy = _model(Policy, f"drawn_{seed}", {fmt.id: entry})
            policy_descriptor(derive.policy_entry(policy, fmt), fmt, format_descriptor(fmt))
        except (ValidationError, EmuError):
            continue
        return policy
