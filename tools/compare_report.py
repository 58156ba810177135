"""What differs between the answers of two builds, under the smallest keys that show it."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from tools.compare_words import MASKED_KEYS, plain

LINES = 40


@dataclass
class Differences:
    """The differences of one group: key -> what differs; how many keys were compared."""

    group: str
    compared: int = 0
    found: dict[str, str] = field(default_factory=dict)
    keys: list[str] = field(default_factory=list)


def _parts(word: str) -> tuple[str, str, str]:
    """Return (kind, class, text) of an answer: ('bits', '', digest), ('refused', class, text) or ('crash', class, text)."""
    if word.startswith(("refused: ", "crash: ")):
        kind, name, text = word.split(": ", 2)
        return kind, name, text
    return "bits", "", word


def compare_answers(group: str, old: dict[str, str], new: dict[str, str], folders: tuple[str, str]) -> tuple[Differences, Differences]:
    """Compare digests and refusals of a group. Returns: differences of results, and those of the texts of refusals alone."""
    results, messages = Differences(group), Differences("messages")
    for key in sorted(old.keys() | new.keys()):
        if key not in old or key not in new:
            results.found[key] = f"only in {'old' if key in old else 'new'}"
            continue
        results.compared += 1
        results.keys.append(key)
        before, after = _parts(old[key]), _parts(new[key])
        texts = [plain(item[2], folder) for item, folder in zip((before, after), folders, strict=True)]
        if before[0] == after[0] == "bits":
            if before[2] != after[2]:
                results.found[key] = "bits differ"
            continue
        if before[:2] != after[:2]:
            words = [f"{kind} {name} {text}" for (kind, name, _), text in zip((before, after), texts, strict=True)]
            shown = ["an answer" if word.startswith("bits") else word for word in words]
            results.found[key] = f"old: {shown[0]}; new: {shown[1]}"
            continue
        messages.compared += 1
        messages.keys.append(key)
        if texts[0] != texts[1]:
            messages.found[key] = f"old: {texts[0]}\n         new: {texts[1]}"
    return results, messages


def _flat(value: Any, path: str = "$") -> Iterator[tuple[str, str]]:
    """Yield (path, text) of every value of a JSON document, keys in the new words."""
    if isinstance(value, dict):
        for key, item in value.items():
            word = plain(str(key))
            yield f"{path}.{word}", "object"
            if not MASKED_KEYS.search(word):
                yield from _flat(item, f"{path}.{word}")
    elif isinstance(value, list):
        yield f"{path}[]", str(len(value))
        for number, item in enumerate(value):
            yield from _flat(item, f"{path}[{number}]")
    else:
        yield path, plain(value) if isinstance(value, str) else json.dumps(value)


def first_difference(before: str, after: str, folders: tuple[str, str]) -> str | None:
    """Return where two texts first differ: the paths of JSON documents, else the line; None: nowhere but in renamed words."""
    texts = before.replace(folders[0], "<folder>"), after.replace(folders[1], "<folder>")
    try:
        found = [dict(_flat(json.loads(text))) for text in texts]
    except ValueError:
        lines = [plain(text).splitlines() for text in texts]
        for number in range(max(map(len, lines))):
            pair = [item[number] if number < len(item) else "<end>" for item in lines]
            if pair[0] != pair[1]:
                return f"line {number + 1}: old: {pair[0].strip()[:300]}\n         new: {pair[1].strip()[:300]}"
        return None
    missing = object()
    wrong = [path for path in {**found[0], **found[1]} if found[0].get(path, missing) != found[1].get(path, missing)]
    if not wrong:
        return None
    shown = [str(item.get(wrong[0], "<nothing>"))[:200] for item in found]
    return f"{len(wrong)} JSON values, first {wrong[0]}: old: {shown[0]}; new: {shown[1]}"


def compare_commands(group: str, old: dict[str, Any], new: dict[str, Any], folders: tuple[str, str]) -> tuple[Differences, Differences]:
    """Compare command lines. Returns: differences of exit codes, output and files, and those of error lines alone."""
    results, messages = Differences(group), Differences("messages")
    for line in [*old, *(key for key in new if key not in old)]:
        if line not in old or line not in new:
            results.found[line] = f"only in {'old' if line in old else 'new'}"
            continue
        results.keys.append(line)
        results.compared += 1
        messages.compared += 1
        before, after = old[line], new[line]
        wrong = [] if before["code"] == after["code"] else [f"exit code: old {before['code']}, new {after['code']}"]
        parts = {"output": (before["out"], after["out"])}
        for name in {**before["files"], **after["files"]}:
            parts[f"file {name}"] = before["files"].get(name, "<no file>"), after["files"].get(name, "<no file>")
        for name, (one, two) in parts.items():
            place = first_difference(one, two, folders)
            wrong += [] if place is None else [f"{name}: {place}"]
        if wrong:
            results.found[line[:160]] = "\n         ".join(wrong)
        place = first_difference(before["err"], after["err"], folders)
        if place is not None:
            messages.found[f"{group}: {line[:160]}"] = place
    return results, messages


def collapse(found: dict[str, str], keys: list[str]) -> list[tuple[str, list[str]]]:
    """Return (key, keys that differ below it): the shortest beginnings of keys under which every key differs."""
    tree: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    for key in {*keys, *found}:
        parts = key.split("/")
        for depth in range(1, len(parts) + 1):
            counts = tree["/".join(parts[:depth])]
            counts[0] += 1
            counts[1] += key in found
    groups: dict[str, list[str]] = defaultdict(list)
    for key in found:
        parts = key.split("/")
        head = next("/".join(parts[:depth]) for depth in range(1, len(parts) + 1) if len(set(tree["/".join(parts[:depth])])) == 1)
        groups[head].append(key)
    return sorted(groups.items(), key=lambda item: item[0])


def common_words(found: dict[str, str], keys: list[str]) -> list[str]:
    """Return the words that every differing key has and some other key has not."""
    if len(found) < 2:
        return []
    shared = set.intersection(*(set(key.split("/")) for key in found))
    return sorted(word for word in shared if any(word not in key.split("/") for key in keys))


def bits_difference(old: Any, new: Any) -> str:
    """Return the first element that differs between two detailed answers, with the operands of the same position."""
    if not old or not new or old.get("bits") is None or new.get("bits") is None:
        return ""
    before, after = old["bits"], new["bits"]
    for name in {**before, **after}:
        one, two = before.get(name), after.get(name)
        if one == two:
            continue
        if one is None or two is None or one["shape"] != two["shape"]:
            return f"{name}: old shape {one and one['shape']}, new shape {two and two['shape']}"
        wrong = [place for place, pair in enumerate(zip(one["bits"], two["bits"], strict=True)) if pair[0] != pair[1]]
        place = wrong[0]
        same = [f"{word}={item['bits'][place]}" for word, item in before.items() if item["shape"] == one["shape"] and word != name]
        beside = f" where {', '.join(same)}" if same else ""
        return f"{name}[{place}]: old {one['bits'][place]}, new {two['bits'][place]}{beside} ({len(wrong)} of {len(one['bits'])} differ)"
    return ""


def text_of(part: Differences, examples: dict[str, str]) -> list[str]:
    """Return the lines about one group. examples: key -> its first differing element."""
    if not part.found:
        return [f"{part.group}: {part.compared} compared, equal"]
    lines = [f"{part.group}: {part.compared} compared, {len(part.found)} DIFFER"]
    shared = common_words(part.found, part.keys)
    lines += [f"  every one of them has: {', '.join(shared)}"] if shared else []
    by_text: dict[str, list[str]] = defaultdict(list)
    for head, keys in collapse(part.found, part.keys):
        texts = {part.found[key] for key in keys}
        if len(texts) == 1 and part.group != "messages":
            by_text[f"{head}{'' if keys == [head] else f'/** ({len(keys)})'}: {texts.pop()}"] = [min(keys, key=lambda key: (len(key), key))]
        else:
            for key in keys:
                by_text[part.found[key]].append(key)
    for text, keys in list(by_text.items())[:LINES]:
        many = f" and {len(keys) - 1} more" if len(keys) > 1 else ""
        lines.append(f"  {text}" if keys[0] in text or text.startswith(keys[0].split("/")[0] + "/") else f"  {keys[0]}{many}: {text}")
        example = next((examples[key] for key in keys if examples.get(key)), "")
        lines += [f"         {keys[0]}: {example}"] if example else []
    lines += [f"  ... and {len(by_text) - LINES} lines more"] if len(by_text) > LINES else []
    return lines


def example_keys(part: Differences) -> list[str]:
    """Return the keys whose bits a report shows: the shortest of each group of differing bits."""
    wanted = [min(keys, key=lambda key: (len(key), key)) for _, keys in collapse(part.found, part.keys)]
    return [key for key in wanted if part.found[key] == "bits differ"][:LINES]
