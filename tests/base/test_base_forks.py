"""Forks while other threads hold locks and import: no child waits for ever, and nothing is said on stderr."""

from __future__ import annotations

import re
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

HOOKS = re.compile(r"register_at_fork\(\s*before=")
# in a fresh interpreter, in a folder with modules m0.py, m1.py ...: a thread does this for ever
THREADS = {
    "locks": "with outer, inner: pass",
    "inner lock": "with inner: pass",
    "imports": "again('m0')",
    "imports that log": "again('logs')",
    "imports under the lock of logging": "with logging._lock: again('m1')",
    "logging": "logging.getLogger(f'name{next(numbers)}').addHandler(logging.NullHandler())",
    "a lock under the lock of logging": "with logging._lock, outer: pass",
    "a pool": "futures.ThreadPoolExecutor(1).submit(int).result()",
}
PROGRAM = """
import importlib, itertools, logging, os, signal, sys, threading, time
from concurrent import futures
from emu.base.forks import fork_safe_lock
sys.path.insert(0, "."), sys.setswitchinterval(1e-5)
outer, inner, numbers = fork_safe_lock("outer"), fork_safe_lock("inner"), itertools.count()

def again(name):
    sys.modules.pop(name, None)
    importlib.import_module(name)

def loop(text):
    code = compile(text, text, "exec")
    while True:
        exec(code)
        time.sleep(1e-4)

for text in THREADS:
    threading.Thread(target=loop, args=(text,), daemon=True).start()
signal.alarm(90)  # only so that a deadlock is a failure
for _ in range(FORKS):
    pid = os.fork()
    if not pid:
        signal.alarm(20)
        with outer, inner: again("m2")
        logging.getLogger("child")
        futures.ThreadPoolExecutor(1).submit(int).result()
        os._exit(0)
    assert os.waitpid(pid, 0)[1] == 0
os._exit(0)
"""
LATE = """
import os, sys, threading, time
import emu.base.forks
assert "late" not in sys.modules
sys.path.insert(0, ".")
thread = threading.Thread(target=__import__, args=("late",))
thread.start()
while "late" not in sys.modules: pass
pid = os.fork()
os.waitpid(pid, 0) if pid else os._exit(0)
thread.join()
"""


def said(folder: Path, program: str) -> str:
    for number in range(3):
        (folder / f"m{number}.py").write_text("import sys\n")
    (folder / "logs.py").write_text("import logging\nlogging.getLogger('logs')\n")
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=folder, timeout=100)
    return f"{done.stderr}{done.returncode or ''}"


@pytest.mark.parametrize("forks", [40, pytest.param(300, marks=pytest.mark.exhaustive)])
def test_no_fork_stops_or_says_anything(tmp_path, forks):
    assert said(tmp_path, PROGRAM.replace("THREADS", repr([*THREADS.values()])).replace("FORKS", str(forks))) == ""


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", THREADS)
def test_no_fork_beside_one_thread(tmp_path, name):
    assert said(tmp_path, PROGRAM.replace("THREADS", repr([THREADS[name]])).replace("FORKS", "200")) == ""


def hooked() -> list[str]:
    """Modules of the standard library that take a lock before a fork."""
    root = Path(sysconfig.get_path("stdlib"))
    files = [path for pattern in ("*.py", "*/*.py", "*/*/*.py") for path in root.glob(pattern)]
    own = [path.relative_to(root) for path in files if not {"site-packages", "test", "tests"} & set(path.parts)]
    found = [path for path in own if HOOKS.search((root / path).read_text(encoding="utf-8", errors="replace"))]
    return sorted(".".join(path.with_suffix("").parts).removesuffix(".__init__") for path in found)


def test_a_lock_taken_before_a_fork_is_known_when_it_begins(tmp_path):
    """What another thread imports while a fork waits adds no lock that would be given back without being taken."""
    names = hooked()
    assert {"logging", "concurrent.futures.thread"} <= {*names}
    (tmp_path / "late.py").write_text("import time\ntime.sleep(0.3)\n" + "".join(f"import {name}\n" for name in names))
    assert said(tmp_path, LATE) == ""
