"""Build script of emu.engines.c_ref._c: cffi in API mode, declarations cut out of the one public header. Runs at the root."""

from glob import glob
from hashlib import sha256
from pathlib import Path

from cffi import FFI

HEADERS = ["c_ref/emu_ref.h", *sorted(glob("c_ref/src/**/*.h", recursive=True))]
SOURCES = sorted(glob("c_ref/src/*/*.c"))
FLAGS = ["-O3", "-std=c99", "-ffp-contract=off", "-fno-wrapv", "-Werror=incompatible-pointer-types"]
ALIGNED = ["-falign-functions=64", "-falign-loops=32"]  # else a change of one function moves the speed of others by some percent


def digest(paths: list[str]) -> str:
    """Return the sha256 of files, one after the other."""
    return sha256(b"".join(Path(path).read_bytes() for path in paths)).hexdigest()


CONVERSIONS = [path for path in HEADERS + SOURCES if Path(path).parent.name in ("c_ref", "number", "convert", "tables")]
DIGEST = digest(HEADERS + SOURCES)
COMPILED_IN = {"emu_source_digest": DIGEST, "emu_convert_digest": digest(CONVERSIONS)}  # names of the extension that say what it is made of


def cdef(path: str) -> str:
    """Return the declarations of a header that stand between its two markers."""
    return Path(path).read_text(encoding="utf-8").split("/* cdef begin */")[1].split("/* cdef end */")[0]


ffi = FFI()
ffi.cdef("\n".join([cdef(HEADERS[0]), *(f"static const char {name}[65];" for name in COMPILED_IN)]))
ffi.set_source(
    "emu.engines.c_ref._c",
    "\n".join(['#include "emu_ref.h"', *(f'static const char {name}[65] = "{found}";' for name, found in COMPILED_IN.items())]),
    sources=SOURCES,
    depends=HEADERS,
    include_dirs=["c_ref"],
    extra_compile_args=FLAGS + ALIGNED,
)
