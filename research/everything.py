"""Every record of evidence made again: the steps, run over processes, and what is left after a stop. Not here: what a step measures.

A step is a command of `python -m research`. Those that take long keep what is done as they go, so a step that was killed and is started
again goes on with the same bits. A finished step leaves a stamp with its seconds, and is not run again.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from emu.base.atomic import write_text
from research.train.config import load

ROOT: Final = Path(__file__).parents[1]
EVIDENCE: Final = Path("docs/evidence")
RECORDS: Final = {
    "models": "models.json",
    "forks": "forks.json",
    "train": "training.json",
    "gradients": "gradients.json",
    "shrinkage": "shrinkage.json",
    "datapath": "datapath_errors.json",
    "cost": "hardware_cost.json",
    "families": "families.json",
}
TRAINED: Final = ("decoder_cpu", "student_teacher")
INTERRUPTED: Final = 130
_CHILD: Final = "import sys; sys.path.append({root!r}); from research.everything import child; child({stamp!r}, {words!r})"


@dataclass(frozen=True)
class Step:
    """A command. words: after `python -m research`.   minutes: about what it takes on one idle core.

    last: waits for all steps of its part that stand before it.   shared: takes --cluster.
    """

    part: str
    words: tuple[str, ...]
    minutes: float
    last: bool = False
    shared: bool = False

    @property
    def text(self) -> str:
        """Return the words as one line."""
        return " ".join(self.words)

    def stamp(self, out: Path) -> Path:
        """Return the file that says that the step is done."""
        return out / "done" / f"{self.part}-{hashlib.sha256(self.text.encode()).hexdigest()[:12]}.json"


def steps(out: Path) -> list[Step]:
    """Return the steps of the full set. out: folder of records, runs and stamps."""
    record = {part: str(out / name) for part, name in RECORDS.items()}
    runs = str(out / "runs")
    found = [
        Step("models", ("models", "run", "--record", record["models"]), 40, shared=True),
        Step("forks", ("forks", "run", "--out", runs, "--record", record["forks"]), 20, shared=True),
        Step("gradients", ("gradients", "run", "--record", record["gradients"]), 11, shared=True),
        Step("shrinkage", (*CAPTURED, "--out", str(out / "captured")), 0.3),
        Step("datapath", ("datapath", "--out", record["datapath"], "--force"), 1),
        Step("cost", ("cost", "--out", record["cost"], "--force"), 1),
        Step("families", ("families", "--out", record["families"], "--force"), 0.3),
    ]
    for name in TRAINED:
        head = ("train", "--config", name, "--out", runs)
        found += [Step("train", (*head, "--only", model), MINUTES.get(model, 5), shared=True) for model in load(name).models]
    found += [
        Step("train", ("train", "--config", name, "--out", runs, "--collect", "--record", record["train"]), 0.1, last=True)
        for name in TRAINED
    ]
    tensors = str(out / "captured" / CAPTURED_FILE)
    found.append(Step("shrinkage", ("reproduce", "--out", record["shrinkage"], "--force", "--tensors", tensors), 1, last=True))
    return sorted(found, key=lambda step: (step.last, -step.minutes))


# the operands of a training step that the record of shrinkage measures too
CAPTURED: Final = ("train", "--config", "decoder_cpu", "--only", "dense_64", "--only", "ufp4", "--seeds", "0", "--capture", "100")
CAPTURED_FILE: Final = "decoder_cpu/dense_64/ufp4/seed0/captured_step100.safetensors"
MINUTES: Final = {"moe_64": 12, "dense_64": 13, "dense_96": 3, "outliers": 3, "gaussian": 2}


def short_steps(out: Path) -> list[Step]:
    """Return the steps of the short set, whose commands say which orders of the kept records do not come out again."""
    return [
        Step("forks", ("forks", "run", "--short", "--out", str(out / "runs"), "--record", str(out / RECORDS["forks"])), 1),
        Step("models", ("models", "run", "--short"), 1),
        Step("gradients", ("gradients", "run", "--short", "--record", str(out / RECORDS["gradients"])), 0.5),
    ]


def run(found: Sequence[Step], out: Path, jobs: int, end: float, say: Callable[[str], None], cluster: str | None = None) -> list[Step]:
    """Run the steps that have no stamp, and return those that failed. end: time.monotonic() at which what runs is stopped.

    jobs: processes.   cluster: workers for the steps that can be shared; records depend on neither.
    say: takes a line for the user. A stop or a kill of this process ends what it started.
    """
    (out / "done").mkdir(parents=True, exist_ok=True)
    waiting = [step for step in found if not step.stamp(out).is_file()]
    running: dict[Step, subprocess.Popen[bytes]] = {}
    failed: list[Step] = []
    try:
        while (waiting or running) and time.monotonic() < end:
            for step in _ready(waiting, [*running, *failed])[: jobs - len(running)]:
                waiting.remove(step)
                running[step] = _started(step, out, cluster)
                say(f"begun: {step.text}")
            if not running:
                break  # what is left waits for a step that failed
            time.sleep(0.1)
            for step in [step for step, process in running.items() if process.poll() is not None]:
                with running.pop(step) as process:
                    code = process.returncode
                if code:
                    failed.append(step)
                say(f"{'failed' if code else 'done'}: {step.text}")
    finally:
        for process in running.values():
            process.kill()
            process.communicate()
    return failed


def _ready(waiting: Sequence[Step], others: Sequence[Step]) -> list[Step]:
    """Return the waiting steps that may begin. others: steps that run or failed."""
    return [
        step
        for place, step in enumerate(waiting)
        if not (step.last and any(other.part == step.part for other in (*others, *waiting[:place])))
    ]


def _started(step: Step, out: Path, cluster: str | None) -> subprocess.Popen[bytes]:
    words = (*step.words, "--cluster", cluster) if step.shared and cluster else step.words
    code = _CHILD.format(root=str(ROOT), stamp=str(step.stamp(out)), words=words)
    one = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    return subprocess.Popen([sys.executable, "-P", "-c", code], stdin=subprocess.PIPE, env={**os.environ, **one})


def child(stamp: str, words: Sequence[str]) -> None:
    """Run a step in this process and stamp it when it went well. Ends at once when the process that started it does."""
    from research.__main__ import run as run_words

    threading.Thread(target=_end_with_parent, daemon=True).start()
    begin = time.monotonic()
    code = run_words(words)
    if code == 0:
        spent = {"seconds": round(time.monotonic() - begin, 1), "cpu_seconds": round(sum(os.times()[:4]), 1)}
        write_text(Path(stamp), json.dumps({"command": " ".join(words), **spent}) + "\n", force=True)
    sys.exit(code)


def _end_with_parent() -> None:
    os.read(0, 1)  # nothing is ever written there: it ends when the other end is closed
    os._exit(INTERRUPTED)


def table(found: Sequence[Step], out: Path) -> Iterator[tuple[Step, dict[str, Any] | None]]:
    """Return every step with its stamp, None where it is left."""
    for step in found:
        path = step.stamp(out)
        yield step, json.loads(path.read_text("utf-8")) if path.is_file() else None


def same(one: Path, other: Path) -> bool:
    """Tell whether two records say the same; how long runs took does not count."""
    found: list[Any] = [_timeless(json.loads(path.read_text("utf-8"))) for path in (one, other)]
    return bool(found[0] == found[1])


def _timeless(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _timeless(item) for key, item in value.items() if key != "seconds"}
    return [_timeless(item) for item in value] if isinstance(value, list) else value
