"""Questions to ask of a table, with SQL: those of its page in the documentation, and some that any table answers."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_SECTION = re.compile(r"^## Query\n(.*?)(?=^## |\Z)", re.DOTALL | re.MULTILINE)
_EXAMPLE = re.compile(r"^(?P<question>[^\n`#<|].*?)\n\n```sql[^\n]*\n(?P<sql>.*?)^```$", re.DOTALL | re.MULTILINE)
_PACKAGE = Path(__file__).parents[1]


@dataclass(frozen=True, slots=True)
class Example:
    """A question and the SQL that answers it."""

    question: str
    sql: str


def examples(table: str) -> list[Example]:
    """Of its page, if it has one, then those of any table."""
    return [*_of_page(table), *_of_any(table)]


def _of_page(table: str) -> Iterator[Example]:
    # In a wheel the pages lie in the package, in a checkout beside it.
    for folder in (_PACKAGE / "docs" / "tables", _PACKAGE.parents[1] / "docs" / "tables"):
        page = folder / f"{table}.md"
        if page.is_file():
            section = _SECTION.search(page.read_text(encoding="utf-8"))
            for found in _EXAMPLE.finditer(section[1]) if section else ():
                # The words right before the SQL; what stands above them speaks of something else.
                question = found["question"].rpartition("\n\n")[2]
                yield Example(" ".join(question.split()).rstrip(":"), found["sql"].strip())
            return


def _of_any(table: str) -> Iterator[Example]:
    from tailrace.lake.quoting import quoted

    name = quoted(table)
    yield Example("The latest rows", f"select * from {name} order by tp_timestamp desc limit 10")
    yield Example(
        "Rows by day and partition",
        f"select tp_date, tp_partition, count(*) as rows from {name} group by all order by tp_date desc limit 30",
    )
    addresses = f"select unnest(tp_ips) as ip from {name}"
    yield Example(
        "Addresses that occur most",
        f"select ip, count(*) as rows from ({addresses}) group by all order by rows desc limit 20",
    )
