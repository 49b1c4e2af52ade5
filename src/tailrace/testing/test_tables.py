"""What every table promises: it reads its golden pair as it should, and says what its columns mean.

After a wanted change: `--tailrace-update-golden`, and look at the difference line by line.
"""

from __future__ import annotations

import re

import pyarrow as pa
import pytest

from tailrace.core import TP_COLUMNS, At, Common, Grok, Jsonl, Layout, Pairs, Regex, StartsWith, Struct, Table, W3c
from tailrace.core.arrow import arrow_type
from tailrace.formats import decoder
from tailrace.pipeline.enrich import LISTS, Enricher, timestamps
from tailrace.testing import subjects
from tailrace.testing.decoding import pieces, total
from tailrace.testing.golden import Pair, computed

NAME = re.compile(r"[a-z][a-z0-9_]*")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    subjects.run_over(metafunc, pair=subjects.pairs(metafunc.config.getoption("--tailrace-golden")))


def test_table_reads_what_it_should(pair: Pair, request: pytest.FixtureRequest) -> None:
    if request.config.getoption("--tailrace-update-golden"):
        pair.update()
    assert pair.entries() == pair.expected


def test_pair_shows_good_odd_misfit_and_broken(pair: Pair) -> None:
    misfits = [entry for entry in pair.expected if "tp_misfit" in entry.get("extra", {})]
    fine = [entry for entry in pair.expected if "row" in entry and entry not in misfits]
    assert len(fine) >= 2, "a good record and an odd one"
    assert misfits, "a record with a value that does not fit its column"
    assert any("refused" in entry for entry in pair.expected), "a record that cannot be read"


def test_nothing_is_lost_however_the_bytes_arrive(pair: Pair) -> None:
    data = pair.given
    cut = pieces(data, range(7, len(data), 7))
    assert pair.entries(*cut) == pair.entries()
    assert total(pair.batches(*cut)) == total(pair.batches())
    if is_one_line_per_record(pair.table):
        assert total(pair.batches()) == len(data.splitlines()), "rows, refused and skipped lines are all lines"


def is_one_line_per_record(table: Table) -> bool:
    fmt = table.format
    several = getattr(fmt, "start", None) or getattr(fmt, "unwrap", ())
    return isinstance(fmt, Jsonl | Layout | Grok | Regex | W3c | Pairs) and not several


def test_shared_columns_are_made_of_its_own(pair: Pair) -> None:
    table = pair.table
    types = {column.name: arrow_type(column.type) for column in TP_COLUMNS}
    for batch in pair.batches():
        columns = computed(table, batch)
        times = timestamps(columns, table.common, batch.rows)
        assert times.type == types["tp_timestamp"]
        assert times.null_count < batch.rows or not batch.rows, "some row has a time"
        for name, array in Enricher(table).made(columns, batch.rows).items():
            if name in types:
                assert len(array) == batch.rows
                assert decoded(array.type) == types[name]


def decoded(kind: pa.DataType) -> pa.DataType:
    """The type of what codes stand for."""
    if pa.types.is_list(kind):
        return pa.list_(decoded(kind.value_type))
    return kind.value_type if pa.types.is_dictionary(kind) else kind


def test_shared_columns_name_columns_that_exist(pair: Pair) -> None:
    for path in paths(pair.table.common):
        fields = pair.table.columns
        for name in path.split("."):
            found = next((column for column in fields if column.name == name), None)
            assert found is not None, f"common names {path}, and there is no {name}"
            fields = found.type.columns if isinstance(found.type, Struct) else ()


def paths(common: Common) -> list[str]:
    """All columns that are named, but for those inside SQL."""
    named: list[object] = [common.source_ip, common.destination_ip, *common.time]
    named += [path for each in LISTS for path in getattr(common, each)]
    plain = (path.path if isinstance(path, At | StartsWith) else path for path in named)
    return [path for path in plain if isinstance(path, str)]


def test_it_says_what_it_holds(pair: Pair) -> None:
    table = pair.table
    assert NAME.fullmatch(table.name)
    assert table.name == pair.name
    assert table.doc.endswith(".")
    names = [column.name for column in table.columns]
    assert len(names) == len({name.lower() for name in names}), "SQL does not tell upper case from lower"
    assert not [name for name in names if name.startswith("tp_")], "tp_ is for shared columns"
    assert [column.name for column in table.columns if not column.doc] == []
    assert table.common.time, "a row without a time cannot be stored"


def test_its_formats_can_be_read_with(pair: Pair) -> None:
    table = pair.table
    decoder(table, table.format)
    for preset in table.presets:
        assert preset.doc
        decoder(table, preset.format)
