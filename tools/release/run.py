"""One step after another: a process each, its log, and the record of what has passed, bound to the tree. Not here: which steps."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from emu.base.atomic import write_text
from emu.base.errors import FileError
from tools.processes import end_session
from tools.release import tree
from tools.release.steps import Step

STATE: Final = "state.json"
SCHEMA: Final = "emu-release-1"
PASSED, FAILED, LEFT_OUT, OPEN = "passed", "FAILED", "left out", "open"
STOPS: Final = (signal.SIGINT, signal.SIGTERM)
_CLEARED: Final = ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV")  # as in .ci/run


class Result(NamedTuple):
    """How a step ended: one of passed, FAILED, left out, open; the exit code, seconds, the last line that it printed."""

    state: str
    code: int
    seconds: float
    said: str


class Release:
    """The folder of a release: its state, its logs, what its steps make. workers: options of a command that say where its tasks run."""

    def __init__(self, root: Path, work: Path, workers: str) -> None:
        self.root, self.work, self.workers = root.resolve(), work.resolve(), workers
        self.files = tree.snapshot(self.root)
        self.digest = hashlib.sha256(f"{tree.digest(self.files)} {sys.version} {platform.machine()}".encode()).hexdigest()
        (self.work / "logs").mkdir(parents=True, exist_ok=True)
        self.results, self.new_start = self._known()

    def _known(self) -> tuple[dict[str, Result], bool]:
        """Return what has ended on this tree, and whether the record was of another one."""
        path = self.work / STATE
        if not path.exists():
            return {}, False
        try:
            found = json.loads(path.read_text(encoding="utf-8"))
            results = {
                str(name): Result(str(each["state"]), int(each["code"]), float(each["seconds"]), str(each["said"]))
                for name, each in found["steps"].items()
            }
            if found["schema"] != SCHEMA or not isinstance(found["digest"], str):
                raise ValueError(found["schema"])
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise FileError(f"{path}: is no record of a release ({error!r}): remove it, or name another folder with --work") from None
        return (results, False) if found["digest"] == self.digest else ({}, True)

    def result(self, step: Step) -> Result:
        """Return how a step ended on this tree, or that it is open."""
        return self.results.get(step.name, Result(OPEN, 0, 0, ""))

    def log(self, step: Step) -> Path:
        """Return where a step's output is."""
        return self.work / "logs" / f"{step.name}.log"

    def run(self, step: Step) -> Result:
        """Run a step, record and return how it ended.

        It fails too when files of the tree are others afterwards: what passed before was of another tree.
        """
        begin = time.monotonic()
        code, said, state = 0, "", LEFT_OUT
        if not step.only_if or self._bash(step.only_if, 60, self.work / "logs" / f"{step.name}.only_if.log") == 0:
            code = self._bash(step.command, step.minutes * 60, self.log(step))
            said, state = last_line(self.log(step)), FAILED if code else PASSED
            touched = tree.changed(self.files, tree.snapshot(self.root))
            if touched:
                code, state = code or 1, FAILED
                said = f"the tree changed while it ran: {touched[0]}" + f" and {len(touched) - 1} more" * (len(touched) > 1)
        else:
            said = f"fails here: {step.only_if}"
        self.results[step.name] = result = Result(state, code, round(time.monotonic() - begin, 1), said)
        self._write()
        return result

    def _write(self) -> None:
        steps = {name: result._asdict() for name, result in self.results.items()}
        record = {"schema": SCHEMA, "digest": self.digest, "python": platform.python_version(), "steps": steps}
        write_text(self.work / STATE, json.dumps(record, indent=1) + "\n", force=True)

    def _environment(self) -> Mapping[str, str]:
        """Return the variables of a step: as .ci/run sets them; the environment that its step `tests` made comes first once it is there."""
        kept = {name: value for name, value in os.environ.items() if name not in _CLEARED}
        kept |= {"work": str(self.work), "workers": self.workers, "PYTHON": sys.executable, "MPLBACKEND": "Agg"}
        kept |= {"PIP_DISABLE_PIP_VERSION_CHECK": "1", "PIP_NO_INPUT": "1", "PYTHONPYCACHEPREFIX": str(self.work / "bytecode")}
        own = [str(self.work / "venv" / "bin")] if (self.work / "venv" / "bin" / "pytest").exists() else []
        kept["PATH"] = os.pathsep.join([*own, str(Path(sys.executable).parent), kept.get("PATH", os.defpath)])
        return kept

    def _bash(self, command: str, seconds: int, log: Path) -> int:
        """Run a command with its output in a file; return its exit code, 124 where the time was over. All that it started ends with it."""
        with log.open("wb") as stream:
            signal.pthread_sigmask(signal.SIG_BLOCK, STOPS)  # a stop before Popen returns would leave the process behind
            process = subprocess.Popen(
                ["bash", "-euo", "pipefail", "-c", command],
                cwd=self.root,
                env=self._environment(),
                stdin=subprocess.DEVNULL,
                stdout=stream,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                preexec_fn=_take_signals,  # noqa: PLW1509  # this program has one thread
            )
            try:
                _take_signals()
                return process.wait(seconds)
            except subprocess.TimeoutExpired:
                stream.write(f"stopped after {seconds // 60} minutes\n".encode())
                return 124
            finally:
                end_session(process)
                process.wait()


def _take_signals() -> None:
    """Let what asks a process to stop arrive again."""
    signal.pthread_sigmask(signal.SIG_UNBLOCK, STOPS)


def last_line(log: Path) -> str:
    """Return the last line of a log that says something, at most 120 characters; control characters are left out."""
    lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
    kept = ["".join(each for each in line if each.isprintable()).strip() for line in lines[-200:]]
    return next((line for line in reversed(kept) if line and not line.startswith("WARNING")), "")[:120]


def table(rows: Sequence[tuple[str, Result]]) -> str:
    """Return the summary as text: a line for each step."""
    wide = max(len(name) for name, _ in rows)
    return "\n".join(f"{name:{wide}}  {each.state:8}  {each.code:4}  {each.seconds:7.0f} s  {each.said}".rstrip() for name, each in rows)
