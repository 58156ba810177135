"""What a release is made of: packed files with one time and owner, papers that agree, licences that are known."""

import gzip
import io
import json
import shutil
import subprocess
import tarfile

import pytest

from tools.release import dist, licences, papers


def packed(times, names, gzip_time=0, mode=0o644):
    plain = io.BytesIO()
    with tarfile.open(fileobj=plain, mode="w") as archive:
        for name, time in zip(names, times, strict=True):
            member = tarfile.TarInfo(name)
            member.size, member.mtime, member.uname, member.uid, member.mode = 4, time, f"user{time}", time, mode
            archive.addfile(member, io.BytesIO(b"text"))
    return gzip.compress(plain.getvalue(), mtime=gzip_time)


def test_a_sdist_says_nothing_of_who_packed_it_and_when(tmp_path):
    one, other = packed([1, 2], "ab"), packed([4, 3], "ba", gzip_time=9, mode=0o664)
    made = dist.same_everywhere(one, 77)
    assert made == dist.same_everywhere(other, 77) != one
    assert int.from_bytes(made[4:8], "little") == 77  # the time in the frame of gzip
    with tarfile.open(fileobj=io.BytesIO(made)) as archive:
        assert [(each.name, each.mtime, each.uname, each.uid, each.mode) for each in archive] == [(name, 77, "", 0, 0o644) for name in "ab"]
        assert archive.extractfile("a").read() == b"text"
    (tmp_path / "one").mkdir()
    (tmp_path / "other").mkdir()
    files = [tmp_path / folder / "x.tar.gz" for folder in ("one", "other")]
    files[0].write_bytes(one)
    files[1].write_bytes(one)
    assert dist.differences(*files) == []
    files[1].write_bytes(other)
    assert dist.differences(*files) == ["x.tar.gz: the same members, in other words of the archive (times, modes, order)"]
    files[1].write_bytes(packed([1, 2], "ac"))
    assert dist.differences(*files) == ["x.tar.gz: b", "x.tar.gz: c"]


def test_a_folder_of_others_is_not_replaced(tmp_path, capsys):
    (tmp_path / "mine").touch()
    assert dist.main(["--out", str(tmp_path)]) == 2
    assert "exists, and is no folder of an earlier run" in capsys.readouterr().err and (tmp_path / "mine").exists()


@pytest.fixture
def clone(checkout, tmp_path):
    """The papers alone, dated and committed."""
    for name in ("pyproject.toml", "emu/__init__.py", "CITATION.cff", "CHANGELOG.md", "emu/vectors/files/manifest.py", "vectors/VERSION"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(checkout / name, tmp_path / name)
    log = (tmp_path / "CHANGELOG.md").read_text(encoding="utf-8")
    (tmp_path / "CHANGELOG.md").write_text(log.replace(" - unreleased", " - 2031-01-31", 1), encoding="utf-8")
    who = ["-c", "user.name=x", "-c", "user.email=x"]
    for words in (["init", "-q"], ["add", "-A"], [*who, "commit", "-q", "-m", "x"]):
        subprocess.run(["git", *words], check=True, cwd=tmp_path)
    return tmp_path


def test_papers_that_agree_are_ready(clone):
    assert papers.main(["--root", str(clone)]) == 0


@pytest.mark.parametrize(
    ("name", "old", "new", "said"),
    [
        ("emu/__init__.py", '__version__ = "', '__version__ = "9.', "emu/__init__.py: the version is 9."),
        ("CITATION.cff", 'version: "', 'version: "9.', "CITATION.cff: the version is 9."),
        ("CHANGELOG.md", "\n## ", "\n## 9.", "CHANGELOG.md: the version is 9."),
        ("CHANGELOG.md", " - 2031-01-31", " - unreleased", "has no date (unreleased)"),
        ("vectors/VERSION", "vectors 1", "vectors 9", "vectors/VERSION: vectors 9"),
    ],
)
def test_each_paper_that_says_something_else_is_a_line(clone, capsys, name, old, new, said):
    text = (clone / name).read_text(encoding="utf-8")
    (clone / name).write_text(text.replace(old, new, 1), encoding="utf-8")
    assert papers.main(["--root", str(clone)]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert said in lines[0] and lines[1] == f"1 files are not committed: {name}" and len(lines) == 2


def test_papers_that_are_missing_are_misuse(tmp_path, capsys):
    assert papers.main(["--root", str(tmp_path)]) == 2
    assert capsys.readouterr().err.startswith("emu: tools.release.papers: ")


@pytest.mark.parametrize(
    ("licence", "known"),
    [
        ("MIT", True),
        ("MIT License", True),
        ("License :: OSI Approved :: BSD License", True),
        ("BSD-3-Clause AND MIT", True),
        ("Apache-2.0 OR GPL-3.0-only", True),
        ("BSD-3-Clause AND GPL-3.0-only", False),
        ("GPL-3.0-only", False),
        ("License :: Other", False),
    ],
)
def test_licences_are_spdx_expressions_or_their_names(licence, known):
    assert licences.allowed(licence) is known


def sbom(*listed):
    return {
        "bomFormat": "CycloneDX",
        "components": [{"name": "x", "version": "1", **({"licenses": each} if each else {})} for each in listed],
    }


@pytest.mark.parametrize(
    ("text", "code", "said"),
    [
        (sbom([{"license": {"id": "MIT"}}], [{"expression": "MIT OR X"}]), 0, "2 components, 0 with a licence that is not known here"),
        (sbom([{"license": {"name": "GPL"}}]), 1, "x 1: GPL: read its licence"),
        (sbom(None), 1, "x 1: says no licence: read its licence"),
        (sbom(), 2, "lists no component"),
        ({"bomFormat": "SPDX"}, 2, "is no SBOM of CycloneDX"),
        ([], 2, "is no SBOM of CycloneDX"),
        ("text", 2, "is no SBOM of CycloneDX"),
    ],
)
def test_licences_of_an_sbom(tmp_path, capsys, text, code, said):
    file = tmp_path / "sbom.json"
    file.write_text(json.dumps(text), encoding="utf-8")
    assert licences.main([str(file), "--out", str(tmp_path / "list")]) == code
    assert said in "".join(capsys.readouterr())
    assert (tmp_path / "list").exists() == (code != 2)
