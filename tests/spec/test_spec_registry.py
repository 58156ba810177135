"""Names, aliases, folders: what the registry finds, what it refuses, and that a refusal leaves it as it was."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from emu.base.errors import SpecError
from emu.spec import KINDS, digest, get, load_spec, names
from emu.spec.registry import added_folders, broken, broken_causes, isolated, restored, shipped_root

ALL = [(kind, name) for kind in KINDS for name in names(kind)]


def snapshot() -> dict[tuple[str, str], str]:
    return {(kind, name): digest(get(kind, name)) for kind in KINDS for name in names(kind)}


def message(call: object, *arguments: object) -> str:
    with pytest.raises(SpecError) as caught:
        call(*arguments)  # type: ignore[operator]
    return str(caught.value)


def copy_of(name: str, kind: str = "format", **changes: str) -> str:
    """The text of a shipped file with other words in it; id and aliases as the caller says."""
    text = (shipped_root() / kind / f"{name}.yaml").read_text(encoding="utf-8")
    for old, new in changes.items():
        key = {"id": f'id: "{name}"', "aliases": next((line for line in text.splitlines() if line.startswith("aliases")), "")}.get(old, old)
        assert key in text
        text = text.replace(key, new)
    return text


def test_get_by_id_alias_and_model() -> None:
    e2m1 = get("format", "e2m1")
    assert get("format", "fp4") is e2m1 and get("format", "float4_e2m1fn") is e2m1 and get("format", e2m1) is e2m1
    assert "fp4" not in names("format") and e2m1.aliases[-1] == "fp4"


def test_get_refuses() -> None:
    assert message(get, "format", "e2m") == "format 'e2m' is unknown: did you mean e2m3 or e2m1?"
    assert message(get, "format", "float4_e2m1f") == "format 'float4_e2m1f' is unknown: did you mean e2m1 or e2m3 or e4m3?"
    assert message(get, "format", "zzz").startswith("format 'zzz' is unknown: one of bf16, e0m3, ")
    assert message(get, "format", 4) == "a format is named by a string or a model, not int"
    assert message(get, "rounding", get("format", "e2m1")) == "e2m1 is a format, not a rounding"
    assert message(get, "formats", "e2m1") == f"kind 'formats' is unknown: one of {', '.join(KINDS)}"
    assert message(names, "thing").startswith("kind 'thing' is unknown: one of ")


@pytest.mark.parametrize("kind", KINDS)
def test_every_object_is_frozen_and_named_after_its_file(kind: str) -> None:
    for name in names(kind):
        thing = get(kind, name)
        assert (thing.kind, thing.id) == (kind, name)
        with pytest.raises(ValueError, match="frozen"):
            thing.id = "x"


def test_ids_and_aliases_are_unique() -> None:
    for kind in KINDS:
        words = [word for name in names(kind) for word in (name, *get(kind, name).aliases)]
        assert len(words) == len(set(words))
        for name in names(kind):
            assert all(get(kind, alias).id == name for alias in get(kind, name).aliases)


def test_digest_is_of_facts_and_of_what_they_name(tmp_path: Path) -> None:
    """Not of ids, titles, status, sources; a fact of a named format counts in whatever names it, and nowhere else."""
    before = snapshot()
    shutil.copytree(shipped_root(), tmp_path, dirs_exist_ok=True)
    file = tmp_path / "format" / "e2m1.yaml"
    file.write_text(file.read_text(encoding="utf-8").replace("standard", "vendor").replace('title: "', 'title: "x'), encoding="utf-8")
    with isolated(tmp_path):
        assert get("format", "e2m1").status == "vendor" and snapshot() == before
    file.write_text(file.read_text(encoding="utf-8").replace("bias: 1", "bias: 2"), encoding="utf-8")
    with isolated(tmp_path):
        after = snapshot()
    changed = {key for key in before if before[key] != after[key]}
    assert {("format", "e2m1"), ("block", "nvfp4"), ("recipe", "nvfp4_te_ref"), ("policy", "nvidia")} <= changed
    assert not {("format", "e1m2"), ("block", "hif4"), ("recipe", "hif4"), ("rounding", "rne"), ("transform", "rht16_te")} & changed
    assert snapshot() == before


def test_no_digest_changes_when_all_examples_are_deleted(tmp_path: Path) -> None:
    """Worked examples are read by tests alone."""
    before, cut = snapshot(), 0
    for kind, name in ALL:
        text = (shipped_root() / kind / f"{name}.yaml").read_text(encoding="utf-8")
        head, found, rest = text.partition("\nexpect:")
        (tmp_path / kind).mkdir(exist_ok=True)
        tail = "\nopen:" + rest.partition("\nopen:")[2] if "\nopen:" in rest else "\nsources:" + rest.partition("\nsources:")[2]
        (tmp_path / kind / f"{name}.yaml").write_text(head + tail if found else text, encoding="utf-8")
        cut += bool(found)
    (tmp_path / "sources.yaml").write_bytes((shipped_root() / "sources.yaml").read_bytes())
    assert cut > 90
    with isolated(tmp_path):
        assert snapshot() == before
        assert not any(get(kind, name).expect for kind, name in ALL)
        bare = get("format", "e2m1")
    assert bare.expect != get("format", "e2m1").expect
    assert bare == get("format", "e2m1") and hash(bare) == hash(get("format", "e2m1"))
    assert bare != bare.model_copy(update={"id": "mine"}) and bare != bare.model_copy(update={"facts": get("format", "e1m2").facts})


def test_isolated_gives_the_registry_back(tmp_path: Path) -> None:
    before = snapshot()
    for kind in KINDS:
        (tmp_path / kind).mkdir()
    (tmp_path / "format" / "mine.yaml").write_text(copy_of("e2m1", id='id: "mine"', aliases=""), encoding="utf-8")
    (tmp_path / "sources.yaml").write_bytes((shipped_root() / "sources.yaml").read_bytes())
    with isolated(tmp_path):
        assert {kind: names(kind) for kind in KINDS} == {**dict.fromkeys(KINDS, ()), "format": ("mine",)}
    assert snapshot() == before
    with pytest.raises(SpecError, match="'e2m1' is unknown"), isolated(tmp_path):
        get("format", "e2m1")
    assert snapshot() == before


def test_restored_takes_added_folders_out_again(tmp_path: Path) -> None:
    before = snapshot()
    (tmp_path / "mine.yaml").write_text(copy_of("e2m1", id='id: "mine"', aliases='aliases: ["own"]'), encoding="utf-8")
    with restored():
        load_spec(tmp_path)
        assert get("format", "own").id == "mine" and added_folders() == (str(tmp_path.resolve()),)
    assert snapshot() == before and added_folders() == ()
    assert message(get, "format", "own").startswith("format 'own' is unknown")


def test_other_facts_under_a_known_id(own_registry: None, tmp_path: Path) -> None:
    before = snapshot()
    (tmp_path / "a_new.yaml").write_text(copy_of("e2m1", id='id: "a_new"', aliases=""), encoding="utf-8")
    (tmp_path / "e2m1.yaml").write_text(copy_of("e2m1", **{"bias: 1": "bias: 2"}), encoding="utf-8")
    known = shipped_root() / "format" / "e2m1.yaml"
    wanted = f"{tmp_path}/e2m1.yaml:1: format e2m1 is already defined in {known} with other facts: rename yours"
    assert message(load_spec, tmp_path) == wanted
    assert snapshot() == before and "a_new" not in names("format")


@pytest.mark.parametrize("kind", sorted(path.name for path in shipped_root().iterdir() if path.is_dir() and path.name != "schema"))
def test_copies_of_shipped_files_in_another_folder_are_the_same_objects(own_registry: None, kind: str, tmp_path: Path) -> None:
    shutil.copytree(shipped_root() / kind, tmp_path / kind)
    assert load_spec(tmp_path) == ()


def test_the_same_facts_under_a_known_id_are_fine(own_registry: None, tmp_path: Path) -> None:
    (tmp_path / "e2m1.yaml").write_text(copy_of("e2m1"), encoding="utf-8")
    assert load_spec(tmp_path) == ()
    (tmp_path / "mine.yaml").write_text(copy_of("e2m1", id='id: "mine"', aliases=""), encoding="utf-8")
    assert load_spec(tmp_path) == ("format/mine",)
    assert load_spec(tmp_path) == () and digest(get("format", "mine")) == digest(get("format", "e2m1"))


def test_a_broken_file_adds_nothing(own_registry: None, tmp_path: Path) -> None:
    before = snapshot()
    (tmp_path / "a_good.yaml").write_text(copy_of("e2m1", id='id: "a_good"', aliases=""), encoding="utf-8")
    (tmp_path / "z_bad.yaml").write_text("kind: no\n", encoding="utf-8")
    assert message(load_spec, tmp_path) == f'{tmp_path}/z_bad.yaml:1: bare no is ambiguous in YAML: write "no" in double quotes'
    (tmp_path / "z_bad.yaml").write_text(copy_of("e2m1", id='id: "z_bad"', aliases="", **{"exp_bits: 2": "exp_bits: 99"}), encoding="utf-8")
    assert "z_bad.yaml:" in message(load_spec, tmp_path)
    assert snapshot() == before
    (tmp_path / "z_bad.yaml").unlink()
    assert load_spec(tmp_path) == ("format/a_good",)


def test_a_broken_file_can_be_left_out(own_registry: None, tmp_path: Path) -> None:
    (tmp_path / "a_good.yaml").write_text(copy_of("e2m1", id='id: "a_good"', aliases=""), encoding="utf-8")
    (tmp_path / "z_bad.yaml").write_text(copy_of("e2m1", id='id: "z_bad"', aliases="", **{"exp_bits: 2": "exp_bits: 99"}), encoding="utf-8")
    (tmp_path / "worse.yaml").write_text("kind: no\n", encoding="utf-8")
    (tmp_path / "clash.yaml").write_text(copy_of("e2m1", id='id: "clash"', aliases='aliases: ["a_good"]'), encoding="utf-8")
    assert load_spec(tmp_path, skip_broken=True) == ("format/a_good",)
    assert {path.name for path in broken()} == {"z_bad.yaml", "worse.yaml", "clash.yaml"}
    assert get("format", "a_good").id == "a_good" and get("format", "e2m1").id == "e2m1"
    assert "clash" not in names("format") and "z_bad" not in names("format")
    for name in ("z_bad", "worse", "clash"):
        assert f"{name}.yaml:" in message(get, "format", name), name
    with pytest.raises(SpecError, match=r"worse\.yaml:1"):
        load_spec(tmp_path)


@pytest.mark.parametrize("ending", [".yml", ".YAML"])
def test_a_file_with_another_ending_is_told(own_registry: None, tmp_path: Path, ending: str) -> None:
    (tmp_path / "a_good.yaml").write_text(copy_of("e2m1", id='id: "a_good"', aliases=""), encoding="utf-8")
    (tmp_path / f"mine{ending}").write_text(copy_of("e2m1", id='id: "mine"', aliases=""), encoding="utf-8")
    told = f"{tmp_path}/mine{ending}: files that end in {ending} are not read: rename it to mine.yaml"
    assert message(load_spec, tmp_path) == told
    assert load_spec(tmp_path, skip_broken=True) == ("format/a_good",) and message(get, "format", "mine") == told


def test_what_needs_a_broken_file_is_left_out_too(own_registry: None, tmp_path: Path) -> None:
    (tmp_path / "a_user.yaml").write_text(
        (shipped_root() / "policy" / "nvidia.yaml").read_text("utf-8").replace('id: "nvidia"', 'id: "a_user"')
        .replace('["ptx", "cuda"]', "[]").replace("  e2m1:", "  z_bad:"),
        encoding="utf-8",
    )  # fmt: skip
    (tmp_path / "z_bad.yaml").write_text("kind: no\n", encoding="utf-8")
    assert load_spec(tmp_path, skip_broken=True) == ()
    assert {path.name for path in broken()} == {"a_user.yaml", "z_bad.yaml"}


@pytest.mark.parametrize("folder", ["format", "."])
def test_a_broken_file_is_told_once_however_many_need_it(own_registry: None, tmp_path: Path, folder: str) -> None:
    """Objects that need it, and one that needs those, are counted."""
    (tmp_path / folder).mkdir(exist_ok=True)
    (tmp_path / folder / "z_bad.yaml").write_text(copy_of("e2m1", id='id: "z_bad"', aliases="", **{"exp_bits: 2": "exp_bits: 99"}), "utf-8")
    policy = (shipped_root() / "policy" / "nvidia.yaml").read_text("utf-8").replace('["ptx", "cuda"]', "[]").replace("  e2m1:", "  z_bad:")
    for name in ("a_user", "b_user", "zz_user"):
        (tmp_path / f"{name}.yaml").write_text(policy.replace('id: "nvidia"', f'id: "{name}"'), "utf-8")
    block = (shipped_root() / "block" / "mxfp4.yaml").read_text("utf-8").replace('id: "mxfp4"', 'id: "c_block"')
    (tmp_path / "c_block.yaml").write_text(block.replace('"e2m1"', '"z_bad"').replace("e2m1", "z_bad"), "utf-8")
    load_spec(tmp_path, skip_broken=True)
    ((fault, left_out),) = broken_causes().items()
    assert fault.startswith(f"{tmp_path / folder / 'z_bad.yaml'}:".replace("/./", "/"))
    assert left_out == "z_bad.yaml and 4 more that need it are left out"


def test_other_facts_under_a_shipped_id_are_never_left_out(own_registry: None, tmp_path: Path) -> None:
    (tmp_path / "e2m1.yaml").write_text(copy_of("e2m1", **{"bias: 1": "bias: 2"}), encoding="utf-8")
    with pytest.raises(SpecError, match="already defined"):
        load_spec(tmp_path, skip_broken=True)


def test_aliases_may_not_collide(own_registry: None, tmp_path: Path) -> None:
    before = snapshot()
    (tmp_path / "a_new.yaml").write_text(copy_of("e2m1", id='id: "a_new"', aliases='aliases: ["mine", "fp4"]'), encoding="utf-8")
    assert message(load_spec, tmp_path) == f"{tmp_path}/a_new.yaml:4: alias 'fp4' already names format e2m1: remove it"
    (tmp_path / "a_new.yaml").write_text(copy_of("e2m1", id='id: "a_new"', aliases='aliases: ["e1m2"]'), encoding="utf-8")
    assert message(load_spec, tmp_path) == f"{tmp_path}/a_new.yaml:4: alias 'e1m2' already names format e1m2: remove it"
    (tmp_path / "a_new.yaml").unlink()
    (tmp_path / "fp4.yaml").write_text(copy_of("e2m1", id='id: "fp4"', aliases=""), encoding="utf-8")
    assert message(load_spec, tmp_path) == f"{tmp_path}/fp4.yaml:3: id 'fp4' is an alias of format e2m1: rename yours"
    assert snapshot() == before


def test_kind_and_folder_must_agree(own_registry: None, tmp_path: Path) -> None:
    (tmp_path / "block").mkdir()
    (tmp_path / "block" / "mine.yaml").write_text(copy_of("e2m1", id='id: "mine"', aliases=""), encoding="utf-8")
    wanted = f"{tmp_path}/block/mine.yaml:2: kind 'format' lies in the folder block: move the file or mend the kind"
    assert message(load_spec, tmp_path) == wanted


def test_a_shipped_file_of_the_wrong_kind(tmp_path: Path) -> None:
    for kind in KINDS:
        (tmp_path / kind).mkdir()
    (tmp_path / "block" / "e2m1.yaml").write_text(copy_of("e2m1"), encoding="utf-8")
    with isolated(tmp_path):
        wanted = f"{tmp_path}/block/e2m1.yaml:2: kind 'format' lies in the folder block: move the file or mend the kind"
        assert message(get, "block", "e2m1") == wanted


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("- 1\n", "the top level must be keys and values: kind, id, title, status, facts, sources"),
        ('"x"\n', "the top level must be keys and values: kind, id, title, status, facts, sources"),
        ('id: "x"\n', f"key kind is missing: one of {', '.join(KINDS)}"),
        ("", "the file is empty: write one object with kind, id, title, status, facts, sources"),
    ],
)
def test_a_file_that_is_no_object(text: str, wanted: str, own_registry: None, tmp_path: Path) -> None:
    (tmp_path / "x.yaml").write_text(text, encoding="utf-8")
    assert message(load_spec, tmp_path) == f"{tmp_path}/x.yaml:1: {wanted}"


def test_missing_folder(own_registry: None, tmp_path: Path) -> None:
    assert message(load_spec, tmp_path / "none") == f"{tmp_path}/none: no such folder: give one with .yaml files"
    assert load_spec(tmp_path) == ()


def list_formats(path: str) -> subprocess.CompletedProcess[str]:
    code = "import emu.spec; print(*emu.spec.names('format'))"
    return subprocess.run([sys.executable, "-P", "-c", code], env={**os.environ, "EMU_SPEC_PATH": path}, capture_output=True, text=True)


def test_environment(tmp_path: Path) -> None:
    for name in ("mine", "yours"):
        (tmp_path / name).mkdir()
        (tmp_path / name / f"{name}.yaml").write_text(copy_of("e2m1", id=f'id: "{name}"', aliases=""), encoding="utf-8")
    found = list_formats(os.pathsep.join([str(tmp_path / "mine"), "", str(tmp_path / "yours")]))
    assert found.returncode == 0 and sorted(set(found.stdout.split()) - set(names("format"))) == ["mine", "yours"]
    assert f"EMU_SPEC_PATH: {tmp_path}/none: no such folder" in list_formats(str(tmp_path / "none")).stderr


def test_a_copy_with_other_facts_has_another_digest() -> None:
    rounding = get("rounding", "rne")
    assert rounding.facts_digest == get("rounding", "rne").facts_digest
    other = rounding.model_copy(update={"facts": get("rounding", "rz").facts})
    assert other.facts_digest == get("rounding", "rz").facts_digest != rounding.facts_digest
