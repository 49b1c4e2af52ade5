"""What of a window's files a query looks at: less is read, and the answer is what it is over everything."""

from __future__ import annotations

import re
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from otaptables import simple, write
from windowqueries import COUNTED, PASS_THROUGH, SAMPLED
from windowruns import results, run

from tailrace.core.errors import QueryError
from tailrace.lake.place import LocalPlace
from tailrace.windows import files, needed
from tailrace.windows.asking import ask
from tailrace.windows.needed import EVERYTHING, Needed
from tailrace.windows.schema import ATTRIBUTES
from tailrace.windows.sources import Reader

ALL = set(ATTRIBUTES)
KINDS = "('log_attributes', 'resource_attributes')"


@pytest.fixture
def base(tmp_path: Path) -> Path:
    """Three partitions."""
    for name in ("shop", "bank", "post"):
        write(tmp_path / "in", simple(name, ["a", "b"]))
    return tmp_path / "in"


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """Files of which rows are read."""
    names: set[str] = set()
    read_file, opened_by_reader = files.read_groups, Reader._opened

    def told(self: Reader, file: files.OtapFile) -> object:
        names.add(file.name)
        return opened_by_reader(self, file)

    def whole(place: LocalPlace, file: files.OtapFile) -> pa.Table:
        names.add(file.name)
        with files.opened(place, file) as parquet:
            return read_file(parquet, files.SCHEMAS[file.table], range(parquet.num_row_groups))

    monkeypatch.setattr(Reader, "_opened", told)
    monkeypatch.setattr("tailrace.windows.reading.read_file", whole)
    return names


def parts_of(base: Path) -> list[str]:
    return sorted(path.name.removeprefix("_part_id=") for path in (base / "logs").iterdir())


def counted(names: set[str]) -> dict[str, int]:
    """Files of each table."""
    found = {name: sum(file.startswith(f"{name}/") for file in names) for name in ("logs", *ATTRIBUTES)}
    return {name: count for name, count in found.items() if count}


@pytest.mark.parametrize(
    ("where", "tables"),
    [
        ("_table_type = 'logs'", set()),
        ("_table_type = 'log_attributes'", {"log_attrs"}),
        (f"_table_type in {KINDS}", {"log_attrs", "resource_attrs"}),
        ("_table_type <> 'scope_attributes' and _table_type not like 'log%'", {"resource_attrs"}),
        ("_table_type = 'nothing'", set()),
        ("lower(_table_type) = 'logs' or key = 'n'", ALL),
        ("true", ALL),
    ],
)
def test_files_of_other_tables_are_not_read(
    base: Path, opened: set[str], monkeypatch: pytest.MonkeyPatch, where: str, tables: set[str]
) -> None:
    query = f"select _table_type, key, count(*) as n from otap_temporal where {where} group by all order by all"
    answer = ask(LocalPlace(str(base)), query)
    assert counted(opened) == {"logs": 3, **dict.fromkeys(tables, 3)}
    opened.clear()
    run(base.parent, query=query)
    assert counted(opened) == {"logs": 3, **dict.fromkeys(tables, 3)}
    (written,) = (base.parent / "out").glob("window=*")
    monkeypatch.setattr("tailrace.windows.asking.needed", lambda _: EVERYTHING)
    assert answer == pq.read_table(written) == ask(LocalPlace(str(base)), query)


@pytest.mark.parametrize(
    ("where", "read"),
    [
        ("_part_id = '{0}'", 1),
        ("_part_id in ('{0}', '{2}')", 2),
        ("(_part_id = '{0}' or _part_id = '{1}') and _table_type = 'logs'", 2),
        ("_part_id not in ('{0}', '{1}') and key = 'n'", 1),
        ("_part_id = 'nothing'", 0),
        ("_part_id = '{0}' or key = 'n'", 3),
        ("hash(_part_id) > 0 or random() > 2", 3),
        ("_part_id = '{0}' and str <> '\n_part_id IS NULL\n'", 3),
    ],
)
def test_files_of_other_partitions_are_not_read(
    base: Path, opened: set[str], monkeypatch: pytest.MonkeyPatch, where: str, read: int
) -> None:
    query = "select _part_id, _table_type, key, count(*) as n from otap_temporal where "
    query += where.format(*parts_of(base)) + " group by all order by all"
    answer = ask(LocalPlace(str(base)), query)
    assert counted(opened).get("logs", 0) == read
    opened.clear()
    run(base.parent, query=query)
    assert counted(opened).get("logs", 0) == read
    (written,) = (base.parent / "out").glob("window=*")
    monkeypatch.setattr("tailrace.windows.asking.needed", lambda _: EVERYTHING)
    assert answer == pq.read_table(written) == ask(LocalPlace(str(base)), query)


def test_selected_logs_have_all_their_attributes(base: Path, opened: set[str]) -> None:
    first, second, _ = parts_of(base)
    query = f"select _part_id, parent_id from otap_temporal where _table_type = 'logs' and _part_id = '{first}'"
    made = run(base.parent, query=query)
    assert counted(opened) == dict.fromkeys(("logs", *ATTRIBUTES), 1)
    assert (made.state.logs, made.state.selected) == (6, 2)
    whole = results(base.parent)
    run(base.parent / "other", query=f"{PASS_THROUGH.split('ORDER')[0]} and _part_id = '{first}'",
        base=LocalPlace(str(base)))  # fmt: skip
    assert results(base.parent / "other") == whole
    # Whoever names logs of a partition that the condition leaves out gets them as ever.
    named = query.replace("select _part_id", f"select '{second}' as _part_id")
    made = run(base.parent / "third", query=named, base=LocalPlace(str(base)))
    assert made.state.selected == 2


def test_in_doubt_everything_is_read() -> None:
    """What a window's time decides is not known yet; what cannot be bound is told when it is asked."""
    for text in (
        f"select count(*) as n from logs where {needed.UNKNOWN} > 0 union all select count(*) from log_attributes "
        f"where {needed.UNKNOWN} < 0",
        f"select try({needed.UNKNOWN}), (select count(*) from log_attributes) from logs",
        "select id from logs union select parent_id from log_attributes where TODAY() < '1999-01-01'",
        "select id from logs union all select parent_id from log_attrs where hour(CURRENT_TIMESTAMP) > 23",
        "select nothing from logs",
        "select * from nowhere",
    ):
        assert "log_attrs" in needed.needed((text,)).tables
    assert Needed().kept(["a", "b"]) == {"a", "b"}


@pytest.mark.parametrize("filtered", ["", " where l._part_id = '{0}'"])
def test_partitions_that_cannot_be_told_are_refused_whatever_is_read(base: Path, filtered: str) -> None:
    first = parts_of(base)[0]
    for named, told in (
        ("l._part_id, a._part_id", "2 columns called '_part_id'"),
        ("[l._part_id] as _part_id", "'_part_id' of the answer is not of type string"),
    ):
        query = f"select {named}, a.parent_id from logs l join log_attrs a using (_part_id)"
        with pytest.raises(QueryError, match=re.escape(told)):
            run(base.parent / str(len(named)), query=query + filtered.format(first), base=LocalPlace(str(base)))


def test_a_partition_may_be_named_by_a_number(base: Path) -> None:
    first, second, _ = parts_of(base)
    for path in base.glob(f"*/_part_id={second}"):
        path.rename(path.with_name("_part_id=7"))
    query = f"select 7 as _part_id, parent_id from otap_temporal where _table_type = 'logs' and _part_id = '{first}'"
    assert run(base.parent, query=query).state.selected == 2


def test_queries_of_windows_need_what_they_say(base: Path, opened: set[str]) -> None:
    run(base.parent, query=COUNTED)
    assert counted(opened) == {"logs": 3, "log_attrs": 3}
    opened.clear()
    run(base.parent / "other", query=SAMPLED.replace("100", "1"), base=LocalPlace(str(base)))
    assert counted(opened) == dict.fromkeys(("logs", *ATTRIBUTES), 3)


def test_a_second_question_counts_too(base: Path, opened: set[str]) -> None:
    then = "select count(*) as n from selected_ids s join scope_attributes a on a.parent_id = s.sampled_id"
    query = "select _part_id, id as parent_id from logs"
    found = ask(LocalPlace(str(base)), query, then=then)
    assert counted(opened) == {"logs": 3, "scope_attrs": 3}
    assert found["n"].to_pylist() == [18]
