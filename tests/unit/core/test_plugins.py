"""Names that packages provide: who has them, and what happens when a package does not keep its word."""

from __future__ import annotations

import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from packages import claim

from tailrace.config.packaged import extension, source_kinds
from tailrace.core import ConfigError, plugins
from tailrace.core.registry import all_table_names, find_table, has_table, packaged_tables, table_doc

TABLE = """
from tailrace.core import Common, Jsonl, Table, col
TABLE = Table("{name}", "A table.", Jsonl(), (col("at", "timestamp", doc="When."),), Common(time=("at",)))
"""


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A directory in which packages are installed."""
    before = set(sys.modules)
    monkeypatch.syspath_prepend(str(tmp_path))
    plugins._installed.cache_clear()
    yield tmp_path
    plugins._installed.cache_clear()
    plugins.prefer(())
    for name in set(sys.modules) - before:
        if not name.startswith(("tailrace", "importlib")):
            del sys.modules[name]


def test_where_nothing_is_installed_nothing_is_imported(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(sys, "path", [str(tmp_path), "", str(tmp_path / "absent")])
    monkeypatch.setitem(sys.modules, "importlib.metadata", None)
    plugins._installed.cache_clear()
    assert find_table("no_such_table") is None
    assert not has_table("no_such_table")
    plugins._installed.cache_clear()


def test_a_table_of_a_package(place: Path) -> None:
    (place / "first.py").write_text(TABLE.format(name="zz_log"))
    claim(place, "first-logs", "tailrace.tables", "zz_log", "first")
    assert all_table_names()[-1] == "zz_log"
    assert "first" not in sys.modules
    table = find_table("zz_log")
    assert table is not None
    assert table_doc("zz_log") == table.doc == "A table."


def test_packages_inside_archives_are_found(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    claim(place / "unpacked", "zipped-logs", "tailrace.tables", "zipped_log", "zipped")
    (place / "unpacked" / "zipped.py").write_text(TABLE.format(name="zipped_log"))
    with zipfile.ZipFile(place / "all.zip", "w") as archive:
        for file in (place / "unpacked").rglob("*"):
            archive.write(file, file.relative_to(place / "unpacked"))
    monkeypatch.syspath_prepend(str(place / "all.zip"))
    assert find_table("zipped_log") is not None


def test_a_built_in_name_means_the_built_in_thing(place: Path) -> None:
    claim(place, "rival-logs", "tailrace.tables", "nginx_access_log", "nowhere")
    claim(place, "other-logs", "tailrace.sources", "file", "nowhere")
    table = find_table("nginx_access_log")
    assert table is not None
    assert "nginx_access_log" not in packaged_tables()
    assert source_kinds()["file"].attributes.keys() >= {"paths"}


def test_the_first_preferred_package_wins(place: Path) -> None:
    for package in ("a-logs", "b-logs", "c-logs"):
        claim(place, package, "tailrace.formats", "zz", "nowhere")
    with pytest.raises(ConfigError, match="format zz is provided by a-logs and b-logs and c-logs") as caught:
        plugins.find("format", "zz")
    assert caught.value.code == "config.plugin-conflict"
    assert "zz" not in plugins.usable("format")
    plugins.prefer(["unknown", "C.Logs", "b_logs"])
    offer = plugins.find("format", "zz")
    assert offer is not None
    assert (offer.package, offer.version) == ("c-logs", "0.1")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("raise RuntimeError('out of order')", "cannot be imported: out of order"),
        ("import no_such_module", "cannot be imported: No module named 'no_such_module'"),
        ("x = 1", "second has no TABLE"),
        ("TABLE = 1", "TABLE of second is no table of that name"),
        (TABLE.format(name="yy_log"), "TABLE of second is no table of that name"),
    ],
)
def test_a_broken_package_is_told_and_stands_in_nobodys_way(place: Path, text: str, why: str) -> None:
    (place / "second.py").write_text(text)
    claim(place, "second-logs", "tailrace.tables", "zz_log", "second")
    with pytest.raises(ConfigError, match="table zz_log of package second-logs cannot be used") as caught:
        find_table("zz_log")
    assert why in caught.value.message
    assert caught.value.code == "config.plugin-broken"
    assert packaged_tables() == {}
    assert why in table_doc("zz_log")


def test_what_a_block_takes_has_to_be_declared(place: Path) -> None:
    (place / "third.py").write_text("KIND = 'zz'\ndef make(given): return given\n")
    claim(place, "third-logs", "tailrace.sources", "zz", "third")
    with pytest.raises(ConfigError, match="KIND of third is no block type of that name"):
        extension("source", "zz")
    assert "zz" not in source_kinds()
