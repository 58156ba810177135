"""Kernels bound and compiled by Triton's own launch path, for a device that is only named. `python bound.py NAME ...` prints JSON."""

from __future__ import annotations

import json
import sys

from triton import knobs
from triton.backends.compiler import GPUTarget
from triton.runtime import driver

from emu.engines.torch.triton.catalogue import launches
from emu.engines.torch.triton.launch import OPTIONS
from emu.engines.torch.triton.ptx import _stop_at_ptx, findings


class NamedDevice:
    """What a launch asks of a driver before it runs anything."""

    def get_current_device(self) -> int:
        return 0

    def get_current_stream(self, device: int | None = None) -> int:
        return 0

    def get_current_target(self) -> GPUTarget:
        return GPUTarget("cuda", 90, 32)


def main(names: list[str]) -> dict[str, dict[str, str]]:
    driver.set_active(NamedDevice())
    knobs.runtime.add_stages_inspection_hook = _stop_at_ptx
    found = {}
    for name, prepare in launches():
        if name in names:
            launch = prepare()
            given = {**launch.arguments, **launch.constants}
            compiled = launch.kernel.warmup(**given, num_warps=launch.warps, grid=launch.grid, **OPTIONS)
            found[name] = findings(compiled.asm["ptx"])
    return found


if __name__ == "__main__":
    json.dump(main(sys.argv[1:]), sys.stdout)
