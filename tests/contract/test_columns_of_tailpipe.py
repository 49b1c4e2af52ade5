"""Queries that were written for Tailpipe's tables find the columns they name, with the types they count on."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tailrace.core.columns import leaves
from tailrace.core.registry import find_table

TEXT = Path(__file__).with_name("columns_of_tailpipe.txt").read_text()
TABLES = dict(re.findall(r"^(\w+)\n((?:    .*\n)+)", TEXT, re.MULTILINE))
"Table → `path type, …`. Times of nginx and amounts of money are wider here: 32 bits do not hold them."


@pytest.mark.parametrize("name", TABLES)
def test_columns_have_tailpipes_names_and_types(name: str) -> None:
    table = find_table(name)
    assert table is not None
    found = {path: str(column.type) for path, column in leaves(table.columns)}
    wanted = dict(pair.split(" ", 1) for pair in " ".join(TABLES[name].split()).split(", "))
    assert {path: found.get(path) for path in wanted} == wanted


def test_all_its_tables_are_there() -> None:
    assert len(TABLES) == 23
