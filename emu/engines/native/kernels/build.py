"""Build script of emu.engines.native._kernels: cffi in API mode, declarations cut out of the private header. Runs at the root."""

from glob import glob
from hashlib import sha256
from pathlib import Path

from cffi import FFI

HEADER = "emu/engines/native/kernels/kernels.h"
HEADERS = sorted(glob("emu/engines/native/kernels/*.h"))
SOURCES = sorted(glob("emu/engines/native/kernels/*.c"))
FLAGS = ["-O3", "-std=c99", "-ffp-contract=off", "-fno-wrapv", "-Werror=incompatible-pointer-types"]
DIGEST = sha256(b"".join(Path(path).read_bytes() for path in [*HEADERS, *SOURCES])).hexdigest()


def cdef(path: str) -> str:
    """Return the declarations of a header that stand between its two markers."""
    return Path(path).read_text(encoding="utf-8").split("/* cdef begin */")[1].split("/* cdef end */")[0]


ffi = FFI()
ffi.cdef(cdef(HEADER) + "\nstatic const char emu_kernels_digest[65];")
ffi.set_source(
    "emu.engines.native._kernels",
    f'#include "kernels.h"\nstatic const char emu_kernels_digest[65] = "{DIGEST}";',
    sources=SOURCES,
    depends=HEADERS,
    include_dirs=["emu/engines/native/kernels"],
    extra_compile_args=FLAGS,
)
