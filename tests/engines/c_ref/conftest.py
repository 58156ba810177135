"""Descriptors of the C reference typed by hand, without emu.spec, a small way to call it, and what `make` builds of it."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from emu.engines.c_ref._c import ffi, lib

FLOAT, EXPONENT, INTEGER, CODEBOOK = lib.EMU_FLOAT, lib.EMU_EXPONENT, lib.EMU_INTEGER, lib.EMU_CODEBOOK


def floating(exp: int, frac: int, bias: int, **facts: Any) -> dict[str, Any]:
    """A signed float format with subnormals and -0, unless facts say otherwise."""
    return {"format_class": FLOAT, "has_sign": 1, "exp_bits": exp, "frac_bits": frac, "bias": bias, "subnormals": 1, "neg_zero": 1, **facts}


def listed(*codes: int) -> dict[str, Any]:
    """NaN codes, the canonical one first."""
    return {"nan": lib.EMU_NAN_LIST, "nan_count": len(codes), "nan_codes": codes}


IEEE = {"inf": lib.EMU_INF_IEEE, "nan": lib.EMU_NAN_IEEE}
FORMATS: dict[str, dict[str, Any]] = {
    "e2m1": floating(2, 1, 1),
    "e1m2": floating(1, 2, 1),
    "e3m0": floating(3, 0, 3),
    "e2m3": floating(2, 3, 1),
    "e3m2": floating(3, 2, 3),
    "e4m3": floating(4, 3, 7, **listed(0x7F, 0xFF)),
    "e5m2": floating(5, 2, 15, **IEEE),
    "e4m3fnuz": floating(4, 3, 8, neg_zero=0, **listed(0x80)),
    "e5m2fnuz": floating(5, 2, 16, neg_zero=0, **listed(0x80)),
    "ue4m3": floating(4, 3, 7, has_sign=0, neg_zero=0, unused_high_bits=1, **listed(0x7F)),
    "ue5m3": floating(5, 3, 15, has_sign=0, neg_zero=0, **listed(0xFF)),
    "e6m2": floating(6, 2, 48, has_sign=0, neg_zero=0, subnormals=0, **listed(0xFF)),
    "fp16": floating(5, 10, 15, **IEEE),
    "bf16": floating(8, 7, 127, **IEEE),
    "fp32": floating(8, 23, 127, **IEEE),
    "fp64": floating(11, 52, 1023, **IEEE),
    "e8m0": {"format_class": EXPONENT, "bits": 8, "bias": 127, **listed(0xFF)},
    "int4": {"format_class": INTEGER, "bits": 4, "integer_sign": lib.EMU_TWOS_COMPLEMENT},
    "int8": {"format_class": INTEGER, "bits": 8, "integer_sign": lib.EMU_TWOS_COMPLEMENT},
    "uint4": {"format_class": INTEGER, "bits": 4, "integer_sign": lib.EMU_UNSIGNED},
    "e0m3": {"format_class": INTEGER, "bits": 4, "integer_sign": lib.EMU_SIGN_MAGNITUDE},
}
KEEP, NEXT, EVEN, ODD = lib.EMU_KEEP, lib.EMU_NEXT, lib.EMU_TO_EVEN_CODE, lib.EMU_TO_ODD_CODE
STOP, AWAY = lib.EMU_STOP_AT_MAX, lib.EMU_GO_AWAY
CHOICES: dict[str, tuple[list[list[int]], list[int]]] = {
    "rne": ([[KEEP, EVEN, NEXT]] * 2, [AWAY, AWAY]),
    "rna": ([[KEEP, NEXT, NEXT]] * 2, [AWAY, AWAY]),
    "rz": ([[KEEP] * 3] * 2, [STOP, STOP]),
    "ru": ([[NEXT] * 3, [KEEP] * 3], [AWAY, STOP]),
    "rd": ([[KEEP] * 3, [NEXT] * 3], [STOP, AWAY]),
    "odd": ([[ODD] * 3] * 2, [STOP, STOP]),
    "odd_by_parity": ([[ODD] * 3] * 2, [lib.EMU_STOP_AT_ODD] * 2),
}
ADDS = {
    "add": lib.EMU_ADD_CARRY,
    "cmp": lib.EMU_ADD_COMPARE,
    "half": lib.EMU_ADD_HALF,
    "te_fma": lib.EMU_ADD_TE_FMA,
    "nearest": lib.EMU_ADD_NEAREST,
}
WORDS = {
    "saturate": lib.EMU_SATURATE,
    "inf": lib.EMU_TO_INF,
    "nan": lib.EMU_TO_NAN,
    "ieee_inf": lib.EMU_IEEE_INF,
    "ieee_nan": lib.EMU_IEEE_NAN,
    "wrap": lib.EMU_WRAP,
}


class Reference:
    """The C reference with typed descriptors."""

    lib, ffi = lib, ffi

    def __init__(self) -> None:
        self.memory: list[Any] = []

    def format(self, name: str | dict[str, Any]) -> Any:
        """Return the descriptor of a format of the table, or of facts."""
        facts = dict(FORMATS[name] if isinstance(name, str) else name)
        facts.setdefault("minus_zero_code", -1)
        if "values" in facts:
            facts["values"] = ffi.new("int64_t[]", facts["values"])
            self.memory.append(facts["values"])
        return ffi.new("emu_format *", facts)

    def rounding(self, name: str, bits: int = 0) -> Any:
        """Return the descriptor of a mode of the table, or of add, cmp, half, te_fma, nearest with N random bits."""
        if bits:
            return ffi.new("emu_rounding *", {"add": ADDS[name], "random_bits": bits, "beyond_max": [AWAY, AWAY]})
        choice, beyond = CHOICES[name]
        return ffi.new("emu_rounding *", {"choice": choice, "beyond_max": beyond})

    def policy(self, overflow: str, nan: Any, *, overflow_nan: Any = None, zero: Any = None, inf: Any = None, negative: Any = None) -> Any:
        """Return a policy; pairs are (positive, negative) codes, "open", "refused" or None for the plain rule."""

        def special(code: Any) -> dict[str, int]:
            words = {None: lib.EMU_BY_RULE, "open": lib.EMU_IS_OPEN, "refused": lib.EMU_IS_REFUSED}
            return {"rule": words[code]} if code in words else {"rule": lib.EMU_BY_CODE, "code": code}

        def pair(codes: Any) -> list[dict[str, int]]:
            return [special(code) for code in (codes or (None, None))]

        facts = {"nan": pair(nan), "overflow_nan": pair(overflow_nan), "zero": pair(zero), "inf": pair(inf), "negative": special(negative)}
        return ffi.new("emu_policy *", {"overflow": WORDS[overflow], **facts})

    def dtype(self, fmt: Any) -> Any:
        """Return the dtype of a format's codes in arrays."""
        found = ffi.new("int32_t *")
        assert lib.emu_code_bytes(fmt, found) == 0
        return np.dtype(f"u{found[0]}")

    def convert(self, codes: Any, source: Any, to: Any, rounding: Any, policy: Any, random: Any = None) -> tuple[list[int], list[int]]:
        """Return converted codes and what is open or refused."""
        origin = self.format(source) if isinstance(source, str) else source
        target = self.format(to) if isinstance(to, str) else to
        given = np.ascontiguousarray(codes, self.dtype(origin))
        drawn = None if random is None else np.ascontiguousarray(random, np.uint32)
        out, unanswered = np.zeros(given.size, self.dtype(target)), np.zeros(given.size, np.uint8)
        view = ffi.from_buffer
        error = lib.emu_convert_array(
            origin,
            target,
            self.rounding(rounding) if isinstance(rounding, str) else rounding,
            policy,
            view("char[]", given),
            ffi.NULL if drawn is None else view("uint32_t[]", drawn),
            given.size,
            view("char[]", out),
            view("uint8_t[]", unanswered),
        )
        assert error == 0, f"error {error}"
        return out.tolist(), unanswered.tolist()


@pytest.fixture
def c() -> Reference:
    """The C reference and its descriptors."""
    return Reference()


@pytest.fixture(scope="session")
def worked_rows() -> list[dict[str, Any]]:
    """Groups of worked rows, see rows.yaml."""
    groups: list[dict[str, Any]] = yaml.safe_load((Path(__file__).parent / "rows.yaml").read_text(encoding="utf-8"))["groups"]
    return groups


@pytest.fixture(scope="session")
def built(c_reference: Path) -> Path:
    """What `make` alone builds of c_ref: libraries and the command, without a word."""
    return c_reference


@pytest.fixture(scope="session")
def verilated(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[[Path], Path]:
    """A function of a SystemVerilog bench with module `bench`: its simulation by Verilator, with the C reference behind DPI-C."""
    for tool in ("verilator", "g++"):
        if shutil.which(tool) is None:
            pytest.skip(f"no {tool} here (Debian: verilator g++)")

    def simulation(source: Path) -> Path:
        words = ["verilator", "--binary", "--timing", "-fno-life", "-Wno-fatal", "-Wno-lint", "--top-module", "bench"]
        place = tmp_path_factory.mktemp(f"{source.stem}_verilated")
        words += ["--Mdir", str(place), "-CFLAGS", "-O0", str(built / "dpi/emu_ref_pkg.sv"), str(source), str(built / "libemu_dpi.a")]
        done = subprocess.run(words, cwd=source.parent, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
        return place / "Vbench"

    return simulation
