"""Spec objects: registered ones, and small formats that no file has."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from emu.base.errors import OperandError
from emu.spec import derive, get, names
from emu.spec.models import Format, Policy, Rounding
from emu.spec.models.common import SpecObject

MODES = ("rne", "rna", "rz", "ru", "rd", "odd")


def specs(kind: str) -> st.SearchStrategy[SpecObject]:
    """Spec objects of a kind: the registered ones, and for `format` also small float formats that no file has."""
    known: st.SearchStrategy[SpecObject] = st.sampled_from(names(kind)).map(lambda name: get(kind, name))
    return st.one_of(known, formats()) if kind == "format" else known


@st.composite
def formats(draw: st.DrawFn, max_bits: int = 8) -> Format:
    """Float formats of at most max_bits bits: any split into fields, bias, sign, subnormals, Inf and NaN that the model takes."""
    signed = draw(st.sampled_from(["yes", "no"]))
    width = max_bits - (signed == "yes")
    exp_bits = draw(st.integers(1, min(5, width - 1)))
    frac_bits = draw(st.integers(0, min(width - exp_bits, 4)))
    ieee = exp_bits > 1 and frac_bits > 0 and draw(st.booleans())
    digits = -(-(exp_bits + frac_bits + (signed == "yes")) // 4)
    sign, top = 1 << (exp_bits + frac_bits), (1 << (exp_bits + frac_bits)) - 1
    listed = [(), (sign,), (top, top | sign)] if signed == "yes" else [(), (top,)]
    nan = draw(st.sampled_from(listed)) if not ieee else ()
    last = top - (top in nan)  # the highest magnitude that is not NaN
    inf = (last, last | sign)[: 2 if signed == "yes" else 1] if not ieee and last > 1 and draw(st.integers(0, 3)) == 0 else ()
    facts: dict[str, Any] = {
        "class": "float",
        "signed": signed,
        "exp_bits": exp_bits,
        "frac_bits": frac_bits,
        "bias": draw(st.integers(-2, (1 << exp_bits) + 2)),
        "subnormals": "yes",
        "inf": "ieee" if ieee else tuple(f"0x{code:0{digits}X}" for code in inf) or "none",
        "nan": "ieee" if ieee else tuple(f"0x{code:0{digits}X}" for code in nan) or "none",
        "neg_zero": "yes" if signed == "yes" and nan != (sign,) else "no",
    }
    about = {"kind": "format", "id": "drawn", "title": "drawn by a strategy", "status": "proposed", "sources": ()}
    return Format.model_validate({**about, "facts": facts})


def modes(*, drawing: bool = False) -> st.SearchStrategy[Rounding]:
    """Rounding modes: the registered deterministic ones, or those that draw."""
    found = [get("rounding", name) for name in names("rounding")]
    return st.sampled_from([mode for mode in found if bool(mode.random_bits) == drawing])


def policies(of: str | Format) -> st.SearchStrategy[Policy]:
    """Registered policies that say something of a destination."""
    fmt: Format = get("format", of)
    found = [get("policy", name) for name in names("policy")]
    fitting = [policy for policy in found if policy.facts.keys() & {fmt.id, "with_nan" if derive.codes(fmt).nan else "without_nan"}]
    if not fitting:
        raise OperandError(f"no policy covers {fmt.id}")
    return st.sampled_from(fitting)
