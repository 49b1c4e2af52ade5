"""The benchmarks of formats and tables read what they claim to read, on both sides."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType

import pytest

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"


@pytest.fixture
def modules(monkeypatch: pytest.MonkeyPatch) -> tuple[ModuleType, ModuleType, ModuleType]:
    monkeypatch.setattr(sys, "path", [str(BENCHMARKS), *sys.path])
    import format_inputs
    import formats
    import table_costs

    return formats, format_inputs, table_costs


@pytest.mark.slow
def test_both_sides_read_the_same(modules: tuple[ModuleType, ModuleType, ModuleType], tmp_path: Path) -> None:
    formats, inputs, _ = modules
    paths = inputs.write(tmp_path, 300)
    requests = inputs.requests(300)
    for job in formats.JOBS:
        rows, size = formats.ours(job, paths[job.input])
        assert rows == 300, job.name
        if any(column.name == "size" for column in job.table.columns):
            assert size == sum(request.size for request in requests), job.name
        if job.query:
            connection = formats.connected()
            assert formats.theirs(job, paths[job.input], connection) == (rows, size), job.name
            told = connection.sql(job.query.replace("$path", str(paths[job.input]))).to_arrow_table()
            mine = [batch.columns for batch in formats.batches(job.table, paths[job.input]) if batch.rows]
            for name in {column.name for column in job.table.columns} & set(told.column_names):
                values = [value for columns in mine for value in columns[name].to_pylist()]
                assert values == told[name].to_pylist(), (job.name, name)


@pytest.mark.slow
def test_every_table_has_good_input_and_a_plain_one(
    modules: tuple[ModuleType, ModuleType, ModuleType], tmp_path: Path
) -> None:
    costs = modules[2]
    for table in costs.tables():
        result = costs.measured(table, 2_500, 1, tmp_path)
        assert result["rows"] > 1, table.name
        assert result["columns"][1] > 1, table.name
