"""Steps beside each other: a process each, its log, and the record of what has passed, bound to the tree. Not here: which steps."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Generator, Mapping, Sequence
from pathlib import Path
from typing import IO, Any, Final, NamedTuple

from tools.processes import end_session, git
from tools.rings import tree
from tools.rings.steps import RingError, Step

STATE: Final = "state.json"
SCHEMA: Final = "emu-rings-1"
PASSED, FAILED, LEFT_OUT, OPEN = "passed", "FAILED", "left out", "open"
STOPS: Final = (signal.SIGINT, signal.SIGTERM)
LEAST: Final = 3  # minutes of the limit that every step has beside the multiple of its own
PAUSE: Final = 0.05  # seconds between two looks at the processes
_CLEARED: Final = (
    "PYTHONPATH",
    "PYTHONHOME",
    "VIRTUAL_ENV",
    "PYTHONDONTWRITEBYTECODE",
)  # the last: each start would compile all it imports
_KIND: Final = r"(?P<count>\d+) (?P<kind>passed|failed|skipped|deselected|xfailed|xpassed|errors?|warnings?|rerun)"
_CLOSING: Final = re.compile(rf"=* ?(?:{_KIND.replace('?P<count>', '').replace('?P<kind>', '')}(?:, )?)+ in [\d.]+s.*")


class Result(NamedTuple):
    """How a step ended: passed, FAILED, left out or open; exit code, seconds, the last line of its log, pytest's counts of its tests."""

    state: str
    code: int
    seconds: float
    said: str
    tests: Mapping[str, int] = {}


class _Running(NamedTuple):
    """A step at work. limit: the moment at which its time is over."""

    step: Step
    process: subprocess.Popen[bytes]
    log: IO[bytes]
    begin: float
    limit: float


class Runner:
    """The folder of a run: its state, its logs, what its steps make.

    workers: options of a command that say where its tasks run.   cores: that the steps at work may keep busy together.
    patience: the limit of a step as a multiple of its minutes.
    """

    def __init__(self, root: Path, work: Path, workers: str, cores: int, patience: float = 3) -> None:
        self.root, self.work, self.workers, self.cores, self.patience = root.resolve(), work.resolve(), workers, cores, patience
        self.files = tree.snapshot(self.root)
        self.digest = hashlib.sha256(f"{tree.digest(self.files)} {sys.version} {platform.machine()}".encode()).hexdigest()
        for name in ("logs", "seconds"):
            (self.work / name).mkdir(parents=True, exist_ok=True)
        self.results, self.new_start = self._known()
        self._living: list[subprocess.Popen[bytes]] = []

    def _known(self) -> tuple[dict[str, Result], bool]:
        """Return what has ended on this tree, and whether the record was of another one."""
        path = self.work / STATE
        if not path.exists():
            return {}, False
        try:
            found = json.loads(path.read_text(encoding="utf-8"))
            results = {
                str(name): Result(
                    str(each["state"]),
                    int(each["code"]),
                    float(each["seconds"]),
                    str(each["said"]),
                    {str(kind): int(count) for kind, count in each["tests"].items()},
                )
                for name, each in found["steps"].items()
            }
            if found["schema"] != SCHEMA or not isinstance(found["digest"], str):
                raise ValueError(found["schema"])
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise RingError(f"{path}: is no record of a run ({error!r}): remove it, or name another folder with --work") from None
        return (results, False) if found["digest"] == self.digest else ({}, True)

    def result(self, step: Step) -> Result:
        """Return how a step ended on this tree, or that it is open."""
        return self.results.get(step.name, Result(OPEN, 0, 0, ""))

    def log(self, step: Step) -> Path:
        """Return where a step's output is."""
        return self.work / "logs" / f"{step.name}.log"

    def seconds(self, step: Step) -> Path:
        """Return where the seconds of a step's tests are, if it has any."""
        return self.work / "seconds" / f"{step.name}.jsonl"

    def run(self, steps: Sequence[Step]) -> Generator[tuple[Step, Result | None], None, None]:
        """Run steps, as many beside each other as the cores allow, earlier ones first; yield (step, None) as one begins, then how it ended.

        A step begins when all that it needs has passed and all that it comes after has ended, as far as those are among the steps; one that
        needs what failed stays open. A step fails too when files of the tree are others afterwards: what passed before was of another tree.
        """
        waiting, running = [*steps], list[_Running]()
        try:
            while waiting or running:
                for step in [*waiting]:
                    if any(other.name in (*step.needs, *step.after) for other in (*waiting, *(each.step for each in running))):
                        continue
                    failed = [name for name in step.needs if self.results.get(name, Result(OPEN, 0, 0, "")).state != PASSED]
                    if not failed and running and sum(each.step.cores for each in running) + step.cores > self.cores:
                        continue
                    waiting.remove(step)
                    yield step, None
                    if failed:
                        self.results.pop(step.name, None)
                        yield step, Result(OPEN, 0, 0, f"needs {failed[0]}, which has not passed")
                    elif (begun := self._begin(step)) is None:
                        yield step, self.result(step)
                    else:
                        running.append(begun)
                for each in [*running]:
                    if each.process.poll() is not None or time.monotonic() >= each.limit:
                        running.remove(each)
                        yield each.step, self._end(each)
                time.sleep(PAUSE * bool(running))
        finally:
            for process in [*self._living]:
                self._stop(process)

    def _begin(self, step: Step) -> _Running | None:
        """Start a step; None where it is left out."""
        begin = time.monotonic()
        log = self.work / "logs" / f"{step.name}.only_if.log"
        if step.only_if:
            with log.open("wb") as stream:
                condition = self._bash(step, step.only_if, stream)
                try:
                    code = condition.wait(60)
                except subprocess.TimeoutExpired:
                    code = 124
                finally:
                    self._stop(condition)
            if code:
                self._keep(step, Result(LEFT_OUT, 0, 0, f"fails here: {step.only_if}"))
                return None
        self.seconds(step).unlink(missing_ok=True)
        stream = self.log(step).open("wb")
        limit = begin + 60 * max(step.minutes * self.patience, step.minutes + LEAST)
        return _Running(step, self._bash(step, step.command, stream), stream, begin, limit)

    def _end(self, ended: _Running) -> Result:
        """Record and return how a step ended. All that it started ends with it."""
        code = ended.process.poll()
        step, took = ended.step, round(time.monotonic() - ended.begin, 1)
        self._stop(ended.process)
        with ended.log as stream:
            if code is None:
                stream.write(f"stopped after {(ended.limit - ended.begin) / 60:.0f} minutes\n".encode())
        code = 124 if code is None else code
        lines = said_lines(self.log(step))
        said, state = next((line for line in reversed(lines) if not line.startswith("WARNING")), "")[:120], FAILED if code else PASSED
        touched = tree.changed(self.files, tree.snapshot(self.root))
        if touched:
            code, state = code or 1, FAILED
            said = f"the tree changed while it ran: {touched[0]}" + f" and {len(touched) - 1} more" * (len(touched) > 1)
        return self._keep(step, Result(state, code, took, said, counts_of(lines)))

    def _keep(self, step: Step, result: Result) -> Result:
        self.results[step.name] = result
        steps = {name: each._asdict() for name, each in self.results.items()}
        record = {"schema": SCHEMA, "digest": self.digest, "python": platform.python_version(), "steps": steps}
        write(self.work / STATE, json.dumps(record, indent=1) + "\n")
        return result

    def _environment(self, step: Step) -> Mapping[str, str]:
        """Return the variables of a step; the environment of Python that the step `environment` made comes first once it is there."""
        kept = {name: value for name, value in os.environ.items() if name not in _CLEARED}
        kept |= {"work": str(self.work), "workers": self.workers, "PYTHON": sys.executable, "MPLBACKEND": "Agg"}
        kept |= {"PIP_DISABLE_PIP_VERSION_CHECK": "1", "PIP_NO_INPUT": "1", "PIP_NO_COMPILE": "1"}
        kept |= {"WHEELS": str(self.work / "wheels"), "PYTHONPYCACHEPREFIX": str(self.work / "bytecode")}
        kept |= {"CCACHE_DIR": str(self.work / "ccache"), "CCACHE_NOHASHDIR": "1"}
        kept["EMU_SECONDS"] = str(self.seconds(step))
        own = [str(self.work / "venv" / "bin")] if (self.work / "venv" / "bin" / "pytest").exists() else []
        kept["PATH"] = os.pathsep.join([*own, str(Path(sys.executable).parent), kept.get("PATH", os.defpath)])
        return kept

    def _bash(self, step: Step, command: str, stream: IO[bytes]) -> subprocess.Popen[bytes]:
        """Start a command of a step with its output in a file."""
        signal.pthread_sigmask(signal.SIG_BLOCK, STOPS)  # a stop before Popen returns would leave the process behind
        try:
            process = subprocess.Popen(
                ["bash", "-euo", "pipefail", "-c", command],
                cwd=self.root,
                env=self._environment(step),
                stdin=subprocess.DEVNULL,
                stdout=stream,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                preexec_fn=_take_signals,  # noqa: PLW1509  # this program has one thread
            )
            self._living.append(process)
        finally:
            _take_signals()
        return process

    def _stop(self, process: subprocess.Popen[bytes]) -> None:
        """End a process and all that it started."""
        end_session(process)
        process.wait()
        self._living.remove(process)


def write(path: Path, text: str) -> None:
    """Write a file, whole or not at all."""
    new = path.with_name(f".{path.name}.part")
    new.write_text(text, encoding="utf-8")
    os.replace(new, path)


def _take_signals() -> None:
    """Let what asks a process to stop arrive again."""
    signal.pthread_sigmask(signal.SIG_UNBLOCK, STOPS)


def said_lines(log: Path) -> list[str]:
    """Return the lines of a log that say something, without control characters."""
    lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
    kept = ("".join(each for each in line if each.isprintable()).strip() for line in lines)
    return [line for line in kept if line]


def counts_of(lines: Sequence[str]) -> dict[str, int]:
    """Return the sums of pytest's closing lines: passed, failed, skipped and so on."""
    found: Counter[str] = Counter()
    for line in lines:
        if _CLOSING.fullmatch(line):
            found.update({match["kind"].replace("errors", "error"): int(match["count"]) for match in re.finditer(_KIND, line)})
    return dict(sorted((kind, count) for kind, count in found.items() if not kind.startswith("warning")))


def summary(runner: Runner, ring: str, steps: Sequence[Step], seconds: float, after_installing: float) -> dict[str, Any]:
    """Return what a run comes to: tree, steps, tests, seconds.

    seconds: of this call; after_installing: of them, those since the last step that installs ended.
    whole: every step of the ring passed on this tree, or was left out by its condition, in this call or in an earlier one.
    """
    rows = [(step, runner.result(step)) for step in steps]
    tests: Counter[str] = Counter()
    for _, each in rows:
        tests.update(each.tests)
    return {
        "schema": SCHEMA,
        "ring": ring,
        "whole": all(each.state in (PASSED, LEFT_OUT) for _, each in rows),
        "commit": _commit(runner.root),
        "changed_files": len(git(runner.root, "status", "--porcelain").splitlines()),
        "digest": runner.digest,
        "python": platform.python_version(),
        "machine": platform.machine(),
        "cores": runner.cores,
        "seconds": round(seconds, 1),
        "seconds_after_installing": round(after_installing, 1),
        "tests": dict(sorted(tests.items())),
        "steps": [{"name": step.name, "ring": step.ring, **each._asdict()} for step, each in rows],
    }


def _commit(root: Path) -> str | None:
    """Return the name of the commit of a clone; None before the first."""
    return git(root, "rev-parse", "-q", "--verify", "HEAD").strip() if git(root, "rev-list", "-n", "1", "--all") else None


def as_text(found: Mapping[str, Any]) -> str:
    """Return a summary as text: a line for each step, and two for all."""
    wide = max(len(each["name"]) for each in found["steps"])
    rows = [
        f"{each['name']:{wide}}  {each['state']:8}  {each['code']:4}  {each['seconds']:7.0f} s  {each['said']}".rstrip()
        for each in found["steps"]
    ]
    states = Counter(each["state"] for each in found["steps"])
    counts = ", ".join(f"{states[state]} {state}" for state in (PASSED, FAILED, LEFT_OUT, OPEN))
    tests = ", ".join(f"{count} {kind}" for kind, count in found["tests"].items()) or "none"
    rows.append(f"{len(found['steps'])} steps: {counts}; tests: {tests}")
    changes = f" and {found['changed_files']} changed files" * bool(found["changed_files"])
    tree_name = f"commit {(found['commit'] or 'none')[:12]}{changes}, tree {found['digest'][:16]}, Python {found['python']}"
    seconds = f"{found['seconds']:.0f} s, {found['seconds_after_installing']:.0f} s of them after installing"
    rows.append(f"ring {found['ring']} of {tree_name}: {'whole' if found['whole'] else 'NOT WHOLE'}; {seconds}")
    return "\n".join(rows)
