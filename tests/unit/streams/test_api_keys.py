"""Files of API keys that cannot be read."""

from __future__ import annotations

from pathlib import Path

import pytest

from tailrace.core.errors import ConfigError
from tailrace.streams.api_keys import ApiKeys


def test_a_file_that_is_not_there_is_told_by_its_whole_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ConfigError, match="cannot read the API keys: No such file") as raised:
        ApiKeys.read(Path("keys.conf"))
    assert (raised.value.code, raised.value.where) == ("keys.unreadable", str(tmp_path / "keys.conf"))
    assert "counts from the directory in which the command runs" in str(raised.value.hint)


def test_a_file_that_is_no_text_is_told(tmp_path: Path) -> None:
    path = tmp_path / "keys.conf"
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(ConfigError, match="invalid start byte") as raised:
        ApiKeys.read(path)
    assert raised.value.hint == "write one line for each key, and see that api_keys_file leads there"
