"""Tables as the shell tells of them: names, sizes, columns."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from tailrace.core.errors import UsageError
from tailrace.core.registry import ALIASES, nearest
from tailrace.core.wildcards import fits
from tailrace.lake.quoting import quoted
from tailrace.query.engine import Engine, Result

if TYPE_CHECKING:
    import pyarrow as pa

    from tailrace.lake.listing import Files
    from tailrace.query.tables import Shown


def tables(engine: Engine, pattern: str = "") -> Result:
    """Tables that hold rows; with a pattern all whose names fit it."""
    shown = _shown(engine)
    rows = []
    for name in sorted(shown.names()):
        seen = shown.snapshot(name)
        files = seen.files if seen is not None else None
        if fits(name, pattern) if pattern else files is not None and files.num_rows:
            rows.append((name, *_size(files)))
    return _result((("table", "VARCHAR"), ("rows", "BIGINT"), ("files", "BIGINT"), ("bytes", "BIGINT")), rows)


def columns(engine: Engine, table: str) -> Result:
    """Names, types and meanings of a table's columns."""
    from tailrace.lake.sql import duckdb_type

    fields = _shown(engine).columns(_known(engine, table)).arrow()
    rows = [(field.name, duckdb_type(field), _comment(field)) for field in fields]
    return _result((("column", "VARCHAR"), ("type", "VARCHAR"), ("meaning", "VARCHAR")), rows)


def summary(engine: Engine, table: str) -> str:
    """What is in a table, in one line."""
    name = _known(engine, table)
    seen = _shown(engine).snapshot(name)
    if seen is None or not seen.files.num_rows:
        return f"{name}: no rows"
    rows, files, size = _size(seen.files)
    days = seen.files.days
    first, last = min(days), max(days)
    partitions = ", ".join(sorted(set(seen.files.column("tp_partition"))))
    return f"{name}: {rows:,} rows of {partitions}, {first} to {last}, {files:,} files, {size:,} bytes"


def definition(engine: Engine, table: str) -> str:
    """A table as SQL would make it; without a name, all that hold rows."""
    names = [_known(engine, table)] if table else [row[0] for row in tables(engine).rows]
    parts = []
    for name in names:
        shapes = _shown(engine).columns(name).shapes
        lines = ",\n".join(f"  {quoted(shape.name)} {shape.type}" for shape in shapes)
        parts.append(f"CREATE TABLE {quoted(name)} (\n{lines}\n);\n")
    return "\n".join(parts)


def _shown(engine: Engine) -> Shown:
    return engine.views.schemas[engine.tables.scope.schema]


def _known(engine: Engine, table: str) -> str:
    names = {name.lower(): name for name in _shown(engine).names()}
    asked = table.strip('"').lower()
    asked = ALIASES.get(asked, asked)
    if asked not in names:
        guess = nearest(asked, names)
        hint = f"did you mean '{guess}'?" if guess else ".tables * lists all"
        raise UsageError(f"there is no table {table}", code="usage.unknown-table", hint=hint)
    return names[asked]


def _size(files: Files | None) -> tuple[int, int, int]:
    return (files.total("rows"), files.num_rows, files.total("size")) if files is not None else (0, 0, 0)


def _comment(field: pa.Field) -> str | None:
    found = (field.metadata or {}).get(b"comment")
    return found.decode() if found else None


def _result(described: Iterable[tuple[str, str]], rows: list[tuple[Any, ...]]) -> Result:
    names, types = zip(*described, strict=True)
    return Result(names, types, iter(rows))
