"""python -m research forks: runs forked under every training recipe, what they say, and whether a record still fits the spec."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from emu.base.errors import ToolError
from emu.cli.settings import cluster_option, common_options, note, print_json, print_table, settings_of
from research.cli.kept_record import judge

RECORD = Path("docs/evidence/forks.json")


@click.command("forks")
@click.argument("action", type=click.Choice(["run", "show", "check"]))
@click.option("--config", "name", default="forks", show_default=True, metavar="FILE", help="A configuration, or the name of a shipped one.")
@click.option("--short", is_flag=True, help="Run the short configuration; do orders that the kept record established come out again?")
@click.option("--out", default=Path("runs"), show_default=True, metavar="DIR", type=click.Path(path_type=Path), help="Folder of runs.")
@click.option("-j", "--jobs", default=1, show_default=True, type=click.IntRange(1, 64), help="Processes; results do not depend on it.")
@click.option("--collect", is_flag=True, help="Run nothing: take the forks that are finished.")
@click.option("--record", metavar="FILE", type=click.Path(path_type=Path, dir_okay=False), help="The record: written, shown or checked.")
@cluster_option
@common_options
def command(action: str, name: str, short: bool, out: Path, jobs: int, collect: bool, record: Path | None, cluster: str | None) -> int:
    """Continue BF16 runs for some steps under each training recipe, and compare what that costs: run, show or check.

    run: what has no result yet; a killed run goes on with the same bits. show: the comparisons of a record. check: does it fit the spec?
    The section of docs/training.md is written from the record by `python -m tools.docs build`.
    """
    if short and record in (None, RECORD):
        raise click.UsageError("--short keeps a record of its own: name it with --record")
    from emu.spec.registry import restored
    from research.forks.config import add_ablations

    with restored():
        add_ablations()
        code = _answer(action, "forks_short" if short else name, out, jobs, collect, record, cluster)
        return _short(record) if short and record is not None else code


def _answer(action: str, name: str, out: Path, jobs: int, collect: bool, record: Path | None, cluster: str | None) -> int:
    if action == "run":
        return _run(name, out, jobs, collect, record, cluster)
    from research.forks.record import COMMAND, KIND, stale

    path = record or RECORD
    found = KIND.read(path)
    return judge(path, stale(found), COMMAND) if action == "check" else _show(found)


def _run(name: str, out: Path, jobs: int, collect: bool, record: Path | None, cluster: str | None) -> int:
    from research.forks.config import load
    from research.train.corpus import mismatch, read_corpus

    config = load(name)
    line = mismatch(config.corpus, read_corpus(config.corpus))
    if line is not None:
        note(line)
    if not collect:
        try:
            from research.forks.runs import run_all
        except ModuleNotFoundError as error:
            if error.name != "torch":
                raise
            raise ToolError("python -m research forks needs torch: pip install fp4emu[torch]") from None
        run_all(config, out, jobs, note, cluster)
    from research.forks.record import KIND, collected

    found = collected(config, out)
    if record is not None:
        KIND.write(record, found)
        note(f"{record}: {len(found['runs'])} of {sum(found['planned'].values())} forks; the page follows with: python -m tools.docs build")
    return _show(found)


def _short(path: Path) -> int:
    from research.cli.kept_record import answer
    from research.forks.evidence import asserted
    from research.forks.record import KIND

    found = KIND.read(path)
    comparisons = (found["config"]["primary"], *found["config"]["secondary"])
    return answer(path, RECORD, asserted(KIND.read(RECORD)["runs"], found["runs"], comparisons))


def _show(found: dict[str, Any]) -> int:
    """Print every comparison of a record."""
    from research.forks.evidence import judged

    config = found["config"]
    rows = []
    for part, some in (("primary", [config["primary"]]), ("secondary", config["secondary"]), ("ablation", config["ablations"])):
        for item in some:
            test = judged(found["runs"], item)
            if test is not None:
                rows.append((part, item["figure"], item["better"], item["worse"], len(test.values), test.mean, test.low, test.high, test.p))
    header = ("part", "figure", "better", "worse", "clusters", "mean", "low", "high", "p")
    if settings_of().json:
        print_json([dict(zip(header, row, strict=True)) for row in rows])
    else:
        print_table([tuple(_text(value) for value in row) for row in rows], header, right=header[4:])
    return 0


def _text(value: Any) -> str:
    return f"{value:.5g}" if isinstance(value, float) else "" if value is None else str(value)
