"""Files of others: only regular ones are opened, JSON has bounded depth and numbers."""

import os
import socket

import pytest

from emu.base.errors import FileError
from emu.base.inputs import check_regular, parse_json, read_bytes, read_json


def test_a_regular_file_is_read(tmp_path):
    (tmp_path / "a.json").write_bytes(b'{"a": [1, 2]}')
    (tmp_path / "link.json").symlink_to("a.json")
    assert check_regular(tmp_path / "a.json") == 13
    assert read_bytes(tmp_path / "link.json", 13) == b'{"a": [1, 2]}'
    assert read_json(tmp_path / "a.json") == {"a": [1, 2]}
    with pytest.raises(FileError, match="holds 13 bytes, more than the 12"):
        read_bytes(tmp_path / "a.json", 12)


def test_nothing_else_is_opened(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(tmp_path / "socket"))
        for path, kind in (
            (tmp_path, "a folder"),
            (tmp_path / "pipe", "a pipe"),
            (tmp_path / "socket", "a socket"),
            ("/dev/zero", "a device"),
        ):
            with pytest.raises(FileError, match=f"is {kind}, no regular file"):
                read_bytes(path)
    with pytest.raises(FileNotFoundError):
        check_regular(tmp_path / "missing")


@pytest.mark.parametrize(
    ("text", "says"),
    [("[" * 200_000, "nested"), ('{"a":' * 200_000, "nested"), ("9" * 5_000, "digits"), ("{", "Expecting"), ("\ufeff[1]", "BOM")],
)
def test_hostile_json_is_a_value_error(text, says):
    with pytest.raises(ValueError, match=says):
        parse_json(text)
