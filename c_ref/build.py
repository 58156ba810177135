"""Build script of emu.engines.c_ref._c: cffi in API mode, declarations cut out of the one public header. Runs at the root."""

from glob import glob
from hashlib import sha256
from pathlib import Path

from cffi import FFI

HEADERS = ["c_ref/emu_ref.h", *sorted(glob("c_ref/src/**/*.h", recursive=True))]
SOURCES = sorted(glob("c_ref/src/*/*.c"))
FLAGS = ["-O3", "-std=c99", "-ffp-contract=off", "-fno-wrapv", "-Werror=incompatible-pointer-types"]
DIGEST = sha256(b"".join(Path(path).read_bytes() for path in HEADERS + SOURCES)).hexdigest()


def cdef(path: str) -> str:
    """Return the declarations of a header that stand between its two markers."""
    return Path(path).read_text(encoding="utf-8").split("/* cdef begin */")[1].split("/* cdef end */")[0]


ffi = FFI()
ffi.cdef(cdef(HEADERS[0]) + "\nstatic const char emu_source_digest[65];")
ffi.set_source(
    "emu.engines.c_ref._c",
    f'#include "emu_ref.h"\nstatic const char emu_source_digest[65] = "{DIGEST}";',
    sources=SOURCES,
    depends=HEADERS,
    include_dirs=["c_ref"],
    extra_compile_args=FLAGS,
)
