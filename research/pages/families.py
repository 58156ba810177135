"""The page of families of recipes, from the record of `python -m research families`. Not here: what is measured (research.families)."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from emu.pages.render import Code, Links, Ref, render
from research import families
from research.pages import TEMPLATES

PAGE: Final = "docs/families.md"


def families_pages(root: Path) -> dict[str, str]:
    """Return path -> text of the page; nothing where the tree lacks the record. Raises: FileError (a damaged record)."""
    if not (root / families.RECORD).is_file():
        return {}
    record = families.KIND.read(root / families.RECORD)
    elements = sum(item["shape"][0] * item["shape"][1] for item in record["tensors"])
    text = render(
        "families",
        Links("reference/"),
        TEMPLATES,
        command=record["command"],
        record_path=families.RECORD,
        record_name=families.RECORD.removeprefix("docs/"),
        tensors=[(Code(item["name"]), " x ".join(map(str, item["shape"])), item["dtype"]) for item in record["tensors"]],
        elements=elements,
        parts=[(row["name"], row["what"], row["left_out"], _rows(row, elements)) for row in record["families"]],
        counts=[(Code(row["name"]), _members(row), len(row["groups"])) for row in record["families"]],
    )
    return {PAGE: text}


def _members(row: dict[str, Any]) -> int:
    return sum(len(group["members"]) for group in row["groups"])


def _rows(row: dict[str, Any], elements: int) -> list[tuple[Any, ...]]:
    """Return a row for each group: members, nearest member of another group, scales, codes and values that differ from it."""
    out: list[tuple[Any, ...]] = []
    for group in row["groups"]:
        members: list[Any] = [Ref("recipe", name) for name in group["members"]]
        if "nearest" not in group:
            out.append((members, "", "", "", "", ""))
            continue
        shares = (str(group["scales"]), str(group["codes"]), str(group["values"]), f"{100 * group['values'] / elements:.4f}")
        out.append((members, Code(group["nearest"]), *shares))
    return out
