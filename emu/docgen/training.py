"""The page of training runs, from their record. Not here: the runs (research.train), tables of one study (training_tables.py)."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from emu.docgen.loss_chart import curves
from emu.docgen.markdown import fence, prose, table
from emu.docgen.training_sizes import size_lines
from emu.docgen.training_tables import anchor_lines, order_lines, reference_lines, run_lines, same_lines, short_lines
from research.train.results import RECORD, read_record

PAGE: Final = "docs/training.md"
PICTURE: Final = "docs/training.svg"
MARK: Final = f"<!-- generated from {RECORD} by: emu docs build -->"
DRAWN: Final = ("bf16", "ufp4", "nvufp4", "e2m1_baseline", "e2m1_rht3", "nvfp4_te_train", "mxfp4_train")
Study = dict[str, Any]


def training_pages(root: Path) -> dict[str, str]:
    """Return path -> text of the page and its picture; nothing where the tree holds no record. Raises: FileError (a damaged record)."""
    if not (root / RECORD).is_file():
        return {}
    record = read_record(root / RECORD)
    lines = [MARK, "", *_head(record), *short_lines(record)]
    for study in record.values():
        lines += _study(study)
    lines += ["", "## Loss curves", "", "![Training loss over steps](training.svg)", "", *_curve_words()]
    return {PAGE: "\n".join([*lines, *_limits()]) + "\n", PICTURE: _picture(record)}


def _head(record: dict[str, Study]) -> list[str]:
    name = RECORD.removeprefix("docs/")
    commands = [study["command"] for study in record.values()]
    return [
        "# Training with 4-bit products",
        "",
        prose(
            "Small models trained here under the training recipes of the spec, each beside BF16 with the same weights at the start and ",
            "the same batches. What does not come out as claimed is reported as such. Nothing here is a model of use: the runs are as ",
            "long as one core allows.",
        ),
        "",
        *fence([*commands, "emu docs build                                        # this page and its picture"]),
        "",
        prose(
            f"The record is [{name}]({name}). `python -m research train --check {RECORD}` says whether it still fits the spec; a run that is killed goes ",
            "on with the same bits when its command is given again; `bits` of a run in the record is the SHA-256 of its last weights. ",
            "`python -m research train --list` names the configurations, which are files of `research/train/config`.",
        ),
        "",
    ]


def _study(study: Study) -> list[str]:
    config = study["config"]
    missing = study["planned"] - len(study["runs"])
    made = study["made_with"]
    lines = [
        "",
        f"## {config['title']}",
        "",
        *fence([study["command"]]),
        "",
        prose(
            f"{len(study['runs'])} runs",
            f", {missing} of the configuration not done yet" if missing else "",
            f"; torch {made['torch']}, {made['threads']} thread, {made['cpu']}. Figure: {config['metric']}. Smaller is better. ",
            f"{config['steps']} steps of {config['batch']} {'sequences' if 'context' in config else 'inputs'}",
            f" of {config['context']} bytes" if "context" in config else "",
            ". Half widths are those of 95 % intervals by Student's t over seeds.",
        ),
        "",
        *(_text(study) if "corpus" in config else []),
        *_models(study),
    ]
    lines += reference_lines(study) if config.get("reference") else run_lines(study)
    return lines + same_lines(study) + order_lines(study) + size_lines(study) + anchor_lines(study)


def _text(study: Study) -> list[str]:
    corpus = study["config"]["corpus"]
    same = study["made_with"]["data"] == corpus["digest"]
    return [
        prose(
            f"Text: the docstrings of {' and '.join(corpus['packages'])}, as pinned, as bytes; each text once, every ",
            f"{corpus['validation_every']}th file held out; digest `{corpus['digest'][:16]}`",
            "." if same else f" in the configuration, `{study['made_with']['data'][:16]}` in these runs: other versions.",
        ),
        "",
    ]


def _models(study: Study) -> list[str]:
    """Return the sizes of the models; nothing for a study without sizes."""
    config = study["config"]
    models = config["models"]
    if "width" in config:
        return []
    weights = {run["model"]: run["weights"] for run in study["runs"]}
    rows = []
    for name, model in models.items():
        if name in weights:
            experts = f"{model['experts']}, one for each token" if model.get("experts") else ""
            rows.append([name, *(str(model[key]) for key in ("width", "layers", "heads", "hidden")), experts, str(weights[name])])
    header = ("model", "width", "layers", "heads", "hidden", "experts", "weights in products")
    return [*table(header, rows, (1, 2, 3, 4, 6)), ""]


def _curve_words() -> list[str]:
    return ["Mean loss of each twenty-fifth of a run, seed 0, as the optimizer saw it: with the term that keeps experts even."]


def _picture(record: dict[str, Study]) -> str:
    panels = []
    for study in record.values():
        for model in dict.fromkeys(run["model"] for run in study["runs"]):
            lines = [(run["training"], run["curve"]) for run in study["runs"] if run["model"] == model and run["seed"] == 0]
            chosen = [(name, curve) for name, curve in lines if name in DRAWN]
            if chosen:
                panels.append((f"{study['config']['id']}: {model}", chosen))
    return curves("Training loss", panels)


def _limits() -> list[str]:
    return [
        "",
        "## What is not in it",
        "",
        prose(
            "- Large models and long runs. Shrinkage adds up over depth and time; two or three layers and a few hundred steps show little ",
            "of it, and a loss far from its floor hides what quantization costs later.",
        ),
        "- A GPU run: `research/train/config/decoder_gpu.yaml` is written for one CUDA device, and nobody has run it.",
        prose(
            "- Emulated sums: products here are float32 sums of the dequantized operands, in the order of torch's library ",
            '(`gemm: "fp32"`); a configuration may name a datapath of the spec instead.',
        ),
        "- Attention scores, embedding, head and router: they stay in float32 under every training recipe.",
    ]
