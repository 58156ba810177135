"""The environment variable EMU_FORM: a lower form of the native loops for a whole process, with the same bits."""

import os
import subprocess
import sys

import pytest

from emu.engines.native._kernels import ffi, lib
from emu.engines.native.convert import FORMS

NAMES = [name.lower().replace("-", "") for name in FORMS]
ASK = (
    "import emu, numpy as np\nfrom emu.engines.native import convert\n"
    "x = np.random.default_rng(7).standard_normal((3, 4096)).astype(np.float32)\n"
    "q = emu.quantize(x, 'nvfp4_te_ref', engine='native')\n"
    "print(convert.BEST_FORM, hash(emu.convert(x, 'e2m1', engine='native').tobytes()), hash(q.codes.tobytes()))"
)


def asked(form):
    words = {"EMU_FORM": form, "PYTHONHASHSEED": "0"} if form is not None else {"PYTHONHASHSEED": "0"}
    environment = {key: value for key, value in os.environ.items() if key != "EMU_FORM"} | words
    return subprocess.run([sys.executable, "-P", "-c", ASK], env=environment, capture_output=True, text=True, timeout=60, check=False)


@pytest.mark.exhaustive
def test_each_form_gives_the_same_bits():
    best = lib.emu_best_form()
    found = [asked(form).stdout.split() for form in (None, *NAMES[: best + 1])]
    assert [int(words[0]) for words in found] == [best, *range(best + 1)]
    assert len({tuple(words[1:]) for words in found}) == 1


@pytest.mark.parametrize("form", ["sse9", *NAMES[lib.emu_best_form() + 1 :]])
def test_a_form_that_is_not_there_is_refused(form):
    code = "import sys; sys.argv = ['emu', 'convert', 'e2m1', '5', '--engine', 'native']\nfrom emu.cli.start import main; main()"
    environment = os.environ | {"EMU_FORM": form}
    done = subprocess.run([sys.executable, "-P", "-c", code], env=environment, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 2
    assert done.stderr.startswith(f"emu: EMU_FORM={form!r}" if form == "sse9" else f"emu: EMU_FORM={form}")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("form", range(lib.emu_best_form() + 1))
def test_the_loop_of_the_ceiling_reads_4_bytes_and_writes_1(form):
    x, out = ffi.new("uint32_t[]", [1, 2, 258]), ffi.new("uint8_t[]", 3)
    assert lib.emu_read_4_write_1(form, x, 3, out) == lib.EMU_KERNEL_OK and list(out) == [1, 2, 2]
    for source, target in ((ffi.NULL, out), (x, ffi.NULL)):
        assert lib.emu_read_4_write_1(form, source, 0, target) == lib.EMU_KERNEL_ARGUMENT
