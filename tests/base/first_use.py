"""What test_base_threads.py asks of a fresh interpreter: eight threads make first use of different public functions at once.

Run as `first_use.py FOLDER HOW`; HOW: alone, threads, fork or spawn. Prints a line for each thread, sorted: its name, and the digest of its
answer or its error.
"""

from __future__ import annotations

import hashlib
import importlib
import multiprocessing
import os
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any


def calls(folder: Path) -> dict[str, Callable[[], Any]]:
    """Name -> a call that nobody has made before in this process."""
    import numpy as np

    import emu

    x = np.arange(-64, 64, dtype=np.float32).reshape(2, 64) / 4
    codes = np.arange(64, dtype=np.uint8) % 16
    formats = {"a_format": "e1m2", "b_format": "e1m2", "scale_format": "ue4m3"}
    ones = np.full(4, 0x38, np.uint8)

    def of_a_user() -> Any:
        emu.load_spec(folder)
        return emu.quantize(x, "dyadic_row")

    return {
        "decode": lambda: emu.decode(codes, "nf4"),
        "convert": lambda: emu.convert(x, "e2m1", policy="ml_dtypes"),
        "quantize": lambda: emu.quantize(x, "nvfp4_te_ref"),
        "transform": lambda: emu.transform(x, "rht16_te"),
        "dot": lambda: emu.dot(codes, codes, "nv_like", a_scales=ones, b_scales=ones, **formats),
        "matmul": lambda: emu.matmul(emu.quantize(x, "mxfp4_te_pow2"), emu.quantize(x.T, "mxfp4_te_pow2", axis=0), "ideal"),
        "instruction": lambda: emu.instruction("cvt.rn.satfinite.e2m1x2.f32")(0x3F800000, 0xC0C00000),
        "load_spec": of_a_user,
    }


def digest(answer: Any) -> str:
    import numpy as np

    parts = [answer.codes, *(level.codes for level in answer.levels)] if hasattr(answer, "levels") else [answer]
    return hashlib.sha256(b"".join(np.ascontiguousarray(part).tobytes() for part in parts)).hexdigest()[:12]


def run_threads(folder: Path, children: int = 0) -> list[str]:
    """All calls at once, each in its thread; meanwhile this thread forks children that make the same calls. One line each."""
    found: list[str] = []
    sys.setswitchinterval(0.001 if children else 1e-6)
    work = calls(folder)
    barrier = threading.Barrier(len(work) + 1)

    def one(name: str, call: Callable[[], Any]) -> None:
        barrier.wait()
        try:
            found.append(f"{name} {digest(call())}")
        except Exception as error:  # whatever a thread meets is reported
            found.append(f"{name} {type(error).__name__}: {error} {traceback.extract_tb(error.__traceback__)[-1]}")

    if not children:  # so that all meet in the registry; with children they also meet in imports
        for module in ("emu.ops", "emu.ops.functions", "emu.ops.instruction"):
            importlib.import_module(module)
    threads = [threading.Thread(target=one, args=item) for item in work.items()]
    for thread in threads:
        thread.start()
    barrier.wait()
    pids = []
    for _ in range(children):
        time.sleep(0.03)  # into the middle of what the threads do
        pids.append(forked(folder))
    for thread in threads:
        thread.join()
    found += [f"child {number}: {os.waitpid(pid, 0)[1]}" for number, pid in enumerate(pids)]
    return sorted(found)


def forked(folder: Path) -> int:
    """Fork a child that asks everything again, one call after the other; it ends with 0, or with the fault printed."""
    pid = os.fork()
    if pid:
        return pid
    signal.alarm(40)  # a child that waits for a lock that nobody will give back
    try:
        for call in calls(folder).values():
            digest(call())
    except BaseException:
        traceback.print_exc()
        os._exit(1)
    os._exit(0)


def in_child(folder: Path, queue: Any) -> None:
    queue.put(run_threads(folder))


def main() -> None:
    folder, how = Path(sys.argv[1]), sys.argv[2]
    if how == "spawn":
        context = multiprocessing.get_context("spawn")
        queue = context.Queue()
        child = context.Process(target=in_child, args=(folder, queue))
        child.start()
        print("\n".join(queue.get()))
        child.join()
    elif how == "alone":
        print("\n".join(sorted(f"{name} {digest(call())}" for name, call in calls(folder).items())))
    else:
        print("\n".join(run_threads(folder, 2 if how == "fork" else 0)))


if __name__ == "__main__":
    main()
