"""decode: code -> binary32 bits of its value, and its class."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from emu.base.errors import OpenError
from emu.engines.exact.decode import decode_code
from emu.engines.exact.encode import encode_value
from emu.engines.numpy.convert import to_fp32
from emu.spec import derive
from emu.spec.contract import Contract
from emu.spec.derive import OPEN
from emu.spec.models import Format
from emu.spec.models.format import FloatFacts
from emu.spec.registry import get
from emu.vectors.files.columns import Column, Layout, layout_of
from emu.vectors.files.rows import Answer, Input
from emu.vectors.operation import Batch, Values, array_of, native, present, stored_bits

CLASSES = "0 zero, 1 subnormal, 2 normal, 3 infinite, 4 NaN"


class DecodeRows:
    """decode/<format>, result as fp32 bits."""

    def __init__(self, contract: Contract) -> None:
        self.contract = contract
        self.fmt: Format = get("format", contract.parts[0])
        self.fp32: Format = get("format", "fp32")
        self.src, self.dst, self.part = self.fmt.id, "fp32", "exact"

    @property
    def layout(self) -> Layout:
        """code -> fp32, cls."""
        return layout_of(
            [
                Column("code", "in", stored_bits(self.fmt), self.fmt.id),
                Column("fp32", "out", 32, "fp32", any_nan=True),
                Column("cls", "out", 4, means=CLASSES),
            ]
        )

    def exact(self, values: Values) -> Answer:
        """Return (fp32 bits, class)."""
        try:
            value = decode_code(values[0], self.fmt)
        except OpenError:
            return ((OPEN,), (OPEN,))
        return ((encode_value(value, self.fp32),), (self.class_of(values[0], value.kind, value.is_zero),))

    def class_of(self, code: int, kind: str, is_zero: bool) -> int:
        """Return the class of a code that has a meaning."""
        if kind != "finite":
            return 4 if kind == "nan" else 3
        if is_zero:
            return 0
        facts = self.fmt.facts
        field = (code & ~derive.codes(self.fmt).sign_bit) >> facts.frac_bits if isinstance(facts, FloatFacts) else 1
        return 1 if field == 0 and isinstance(facts, FloatFacts) and facts.subnormals == "yes" else 2

    def case(self, code: int) -> Input:
        """Return the case of a code, with what it is: zero, subnormal, the ends of the range, infinite, NaN, an unused bit."""
        derived = derive.codes(self.fmt)
        flags = ["code"]
        if code >> derived.bits:
            return Input("all", ("code", "scale_signbit"), (code,))
        value = decode_code(code, self.fmt)
        kind = self.class_of(code, value.kind, value.is_zero)
        flags += {0: ["zero"], 1: ["subnormal"], 2: [], 3: ["inf"], 4: ["nan_quiet"]}[kind]
        flags += ["negative"] if value.sign and kind != 4 else []
        return Input("all", tuple(flags), (code,))

    def engines(self) -> dict[str, Batch]:
        """fast gives the value; the C reference the value and the class."""
        return present({"numpy": self.fast} | ({"c_ref": self.c_ref} if native() is not None else {}))

    def known(self, rows: Sequence[Values]) -> list[int]:
        """Return the places of codes without an unused bit set."""
        return [place for place, row in enumerate(rows) if not row[0] >> derive.codes(self.fmt).bits]

    def fast(self, rows: Sequence[Values]) -> list[Answer | None]:
        """Decode through the NumPy column."""
        out: list[Answer | None] = [((OPEN,),)] * len(rows)
        places = self.known(rows)
        bits = to_fp32(array_of([rows[place][0] for place in places], self.fmt), self.fmt).view("u4").tolist()
        for place, code in zip(places, bits, strict=True):
            out[place] = ((code,),)
        return out

    def c_ref(self, rows: Sequence[Values]) -> list[Answer | None]:
        """Decode through the C reference."""
        codes = array_of([row[0] for row in rows], self.fmt)
        classes = native().decode(codes, self.fmt).value_class.tolist()
        out: list[Answer | None] = [((OPEN,), (OPEN,))] * len(rows)
        places = self.known(rows)
        bits = native().decode_to(codes[places], self.fmt, self.fp32).tolist()
        for place, code in zip(places, bits, strict=True):
            out[place] = ((code,), (classes[place],))
        return out

    def described(self) -> dict[str, Any]:
        """The facts of the format that a reader of the table needs."""
        derived = derive.codes(self.fmt)
        return {
            "nan": [f"{code:x}" for code in derived.nan]
            if isinstance(self.fmt.facts, FloatFacts) and self.fmt.facts.nan != "ieee"
            else None,
            "zero_sign": "keep" if derived.neg_zero else "none",
            "subnormals_in": "keep",
            "scale_signbit": "open" if derive.unused_high_bits(self.fmt) else None,
        }
