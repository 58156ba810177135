"""Compare an installed emu with another one, each in an environment of its own: bits, refusals, command lines, golden vectors, speed.

    python -m tools.compare_builds --old OLD/bin/python --new NEW/bin/python [--only GROUP] [--out FILE] [--speed]

Both run the same driver (tools/compare_driver), which uses public functions alone and knows the old and the new spelling of renamed
names. Exit code: 0 equal, 1 something differs, 2 a build did not answer. A group is compared whole before the next one starts:
decode, convert, quantize, transform, dot, matmul, instruction, user (drawn objects), commands, errors, vectors (.mem and .tv).
Texts of refusals and error lines are a group of their own, "messages", because a text may be reworded: --ignore messages leaves it out.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

from tools.compare_report import Differences, bits_difference, compare_answers, compare_commands, example_keys, text_of
from tools.compare_speed import speed

GROUPS = ("objects", "decode", "convert", "quantize", "transform", "dot", "matmul", "instruction", "user", "commands", "errors", "vectors")
DRIVER = Path(__file__).parent / "compare_driver"
NO_ANSWER = 2


def start(python: str, group: str, folder: Path, torch: bool, more: tuple[str, ...] = ()) -> tuple[subprocess.Popen[str], Path]:
    """Start the driver of one build in an empty folder. more: its further options. Returns: the process, and the file that it writes."""
    folder.mkdir(parents=True)
    out = folder / "answers.json"
    words = [python, "-P", str(DRIVER), group, str(out), "--folder", str(folder / "work")]
    words += ["--torch"] if torch else []
    words += more
    kept = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "EMU_SPEC_PATH", "PYTHONHOME")}
    with (folder / "driver.err").open("w") as errors:
        return subprocess.Popen(words, cwd=folder, env=kept, text=True, stdout=subprocess.DEVNULL, stderr=errors), out


def ask(pythons: tuple[str, str], group: str, folder: Path, torch: bool, more: tuple[str, ...] = ()) -> tuple[Any, Any]:
    """Ask both builds at the same time. Returns: what each answered. Raises: SystemExit when one did not."""
    started = [start(python, group, folder / side, torch, more) for python, side in zip(pythons, ("old", "new"), strict=True)]
    found = []
    for (process, out), side in zip(started, ("old", "new"), strict=True):
        if process.wait():
            tail = (folder / side / "driver.err").read_text(encoding="utf-8").strip().splitlines()[-12:]
            print(f"compare_builds: {side} build, group {group}: the driver failed\n" + "\n".join(tail), file=sys.stderr)
            for other, _ in started:
                other.kill()
            raise SystemExit(NO_ANSWER)
        found.append(json.loads(out.read_text(encoding="utf-8")))
    return found[0], found[1]


def compare_objects(old: dict[str, Any], new: dict[str, Any]) -> Differences:
    """Compare which engines and spec objects both builds have."""
    part = Differences("objects")
    tables = [{f"{kind}/{name}": "" for kind, names in facts["objects"].items() for name in names} for facts in (old, new)]
    tables = [table | {f"engine/{name}": "" for name in facts["engines"]} for table, facts in zip(tables, (old, new), strict=True)]
    for key in sorted({**tables[0], **tables[1]}):
        part.compared += 1
        part.keys.append(key)
        if (key in tables[0]) != (key in tables[1]):
            part.found[key] = f"only in {'old' if key in tables[0] else 'new'}"
    return part


def compare_group(pythons: tuple[str, str], group: str, folder: Path, torch: bool, match: str) -> tuple[list[Differences], dict[str, str]]:
    """Compare one group. Returns: differences of results and of messages, and the first differing element of some keys."""
    old, new = ask(pythons, group, folder / group, torch, ("--match", match))
    folders = str(folder / group / "old" / "work"), str(folder / group / "new" / "work")
    if group in ("commands", "errors"):
        return list(compare_commands(group, old, new, folders)), {}
    results, messages = compare_answers(group, old, new, folders)
    wanted = example_keys(results)
    if not wanted or group == "vectors":
        return [results, messages], {}
    keys = folder / f"{group}.keys.json"
    keys.write_text(json.dumps(wanted), encoding="utf-8")
    before, after = ask(pythons, group, folder / f"{group}.detail", torch, ("--detail", str(keys)))
    return [results, messages], {key: bits_difference(before.get(key), after.get(key)) for key in wanted}


def ignored(part: Differences, patterns: list[str]) -> Differences:
    """Return the differences without those whose group or key matches a pattern."""
    if part.group in patterns:
        return Differences(part.group, part.compared, {}, part.keys)
    kept = {key: text for key, text in part.found.items() if not any(fnmatch(key, pattern) for pattern in patterns)}
    return Differences(part.group, part.compared, kept, part.keys)


def compare(pythons: tuple[str, str], groups: list[str], patterns: list[str], match: str, say: Any) -> bool:
    """Compare groups and say what differs. patterns: what is ignored. match: keys to ask. Returns: whether all is equal."""
    equal = True
    with tempfile.TemporaryDirectory(prefix="compare_builds_") as name:
        folder = Path(name)
        old, new = ask(pythons, "facts", folder / "facts", torch=False)
        torch = bool(old["torch"] and new["torch"])
        say(f"old: emu {old['version']} ({pythons[0]}); new: emu {new['version']} ({pythons[1]})")
        engines = [*old["engines"], "torch" if torch else "not torch, which both environments would need"]
        say(f"engines: {', '.join(engines)}")
        for group in groups:
            parts, examples = [compare_objects(old, new)], dict[str, str]()
            if group != "objects":
                parts, examples = compare_group(pythons, group, folder, torch, match)
            for part in (ignored(item, patterns) for item in parts):
                equal = equal and not part.found
                if part.group != "messages" or part.found:
                    say("\n".join(text_of(part, examples)))
    say("equal" if equal else "NOT EQUAL")
    return equal


def main() -> int:
    """Compare two builds, or their speed."""
    parser = argparse.ArgumentParser(prog="python -m tools.compare_builds", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--old", required=True, metavar="PYTHON", help="interpreter of the environment of the old build")
    parser.add_argument("--new", required=True, metavar="PYTHON", help="interpreter of the environment of the new build")
    parser.add_argument("--only", action="append", choices=GROUPS, metavar="GROUP", help="only this group; repeatable")
    parser.add_argument("--match", default="*", metavar="GLOB", help="only cases whose key has this pattern, such as convert/numpy/fp32/*")
    parser.add_argument("--ignore", action="append", default=[], metavar="GLOB", help="a group, or keys that may differ; repeatable")
    parser.add_argument("--out", type=Path, metavar="FILE", help="write the report here too")
    parser.add_argument("--speed", action="store_true", help="compare times instead: alternating processes, medians")
    parser.add_argument("--rounds", type=int, default=9, help="processes of each build for --speed (default 9)")
    given = parser.parse_args()
    lines: list[str] = []

    def say(text: str) -> None:
        lines.append(text)
        print(text, flush=True)

    pythons = (given.old, given.new)
    groups = given.only or list(GROUPS)
    equal = speed(pythons, given.rounds, start, say) if given.speed else compare(pythons, groups, given.ignore, given.match, say)
    if given.out is not None:
        given.out.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return 0 if equal else 1


if __name__ == "__main__":
    sys.exit(main())
