"""Names that a window's query knows beside the four tables: one SQL for both engines."""

from __future__ import annotations

import pyarrow as pa

from tailrace.windows.schema import KEYED, LOGS, PART_ID, VALUE_FIELDS

TIMESTAMP = "timestamp_unix_nano"
"When a log happened, in every view."
BARE = "bare"
"Has a log no attributes? Then it may have an id all the same: not every writer leaves it out."
ROW, ROWS_OF = "row", {"resource": "resource_row", "scope": "scope_row"}
"Numbers of resources or scopes that no two partitions share, of their attributes and of logs."
HIDDEN = {
    "logs": (*ROWS_OF.values(), BARE), "log_attrs": (TIMESTAMP,), "resource_attrs": (ROW,), "scope_attrs": (ROW,)
}  # fmt: skip
"Columns that the rows of a window have besides, for views alone."

_VALUES = ", ".join(f"a.{field.name}" for field in VALUE_FIELDS)


def views(*, sentinels: bool = True, prepared: bool = False) -> dict[str, str]:
    """What each view selects. With `prepared` there are tables of rows with hidden columns, and few joins.

    In `log_attributes` a log without attributes has one row without a key, so that it is there to be selected. In
    `resource_attributes` and `scope_attributes` attributes are repeated for every log: `parent_id` is the log's id.
    """
    nulls = ", ".join(f"CAST(NULL AS {_TYPES[field.name]}) AS {field.name}" for field in VALUE_FIELDS[1:])
    attributes = f"""SELECT a._part_id, a.parent_id, a.key, {_VALUES}, l.timestamp_unix_nano
        FROM log_attrs AS a JOIN logs AS l ON l.id = a.parent_id AND l._part_id = a._part_id"""
    bare = "logs AS l ANTI JOIN log_attrs AS a ON a.parent_id = l.otap_id AND a._part_id = l._part_id"
    if prepared:
        attributes = f"SELECT a._part_id, a.parent_id, a.key, {_VALUES}, a.{TIMESTAMP} FROM log_attrs_rows AS a"
        bare = f"logs_rows AS l WHERE l.{BARE}"
    if sentinels:
        attributes += f""" UNION ALL SELECT l._part_id, l.id, CAST(NULL AS VARCHAR), CAST(0 AS SMALLINT), {nulls},
        l.timestamp_unix_nano FROM {bare}"""
    return {
        "log_attributes": attributes,
        "resource_attributes": _repeated("resource", prepared),
        "scope_attributes": _repeated("scope", prepared),
        "otap_temporal": _temporal(),
    }


_TYPES = {
    "type": "SMALLINT", "str": "VARCHAR", "int": "BIGINT", "double": "DOUBLE", "bool": "BOOLEAN", "bytes": "BLOB",
    "ser": "BLOB",
}  # fmt: skip


def _repeated(kind: str, prepared: bool) -> str:
    if prepared:
        # With two keys DuckDB has joined by the partition first, which is the same for all.
        return f"""SELECT l._part_id, l.id AS parent_id, a.key, {_VALUES}, l.{TIMESTAMP}
            FROM logs_rows AS l JOIN {kind}_attrs_rows AS a ON a.{ROW} = l.{ROWS_OF[kind]}"""
    return f"""SELECT a._part_id, l.id AS parent_id, a.key, {_VALUES}, l.timestamp_unix_nano
        FROM logs AS l JOIN {kind}_attrs AS a ON a.parent_id = l.{kind}_id AND a._part_id = l._part_id"""


def _temporal() -> str:
    """All of them as one table; `id` is the log's in every row."""
    values = ", ".join(field.name for field in VALUE_FIELDS)
    parts = [
        f"""SELECT _part_id, '{name}' AS _table_type, parent_id AS id, parent_id, key, {values}, timestamp_unix_nano
        FROM {name}"""
        for name in ("log_attributes", "resource_attributes", "scope_attributes")
    ]
    nulls = ", ".join(f"CAST(NULL AS {_TYPES[field.name]})" for field in VALUE_FIELDS)
    parts.append(f"""SELECT _part_id, 'logs', id, id, CAST(NULL AS VARCHAR), {nulls}, timestamp_unix_nano FROM logs""")
    return " UNION ALL ".join(parts)


_BIG = pa.int64()
_PART = pa.field(PART_ID, pa.dictionary(pa.int32(), pa.string()))
_VIEW_ATTRS = pa.schema([pa.field("parent_id", _BIG), *list(KEYED)[1:], _PART])
_RETYPED = {"id": _BIG, "time_unix_nano": _BIG, "observed_time_unix_nano": _BIG}
_VIEW_LOGS = pa.schema(
    [
        _PART,
        *(pa.field(field.name, _RETYPED.get(field.name, field.type)) for field in LOGS),
        *(pa.field(name, _BIG) for name in ("otap_id", TIMESTAMP)),
        pa.field(BARE, pa.bool_()),
        *(
            field
            for kind, row in ROWS_OF.items()
            for field in (pa.field(f"{kind}_id", _BIG), pa.field(row, pa.uint32()))
        ),
    ]
)
_VIEW_SHARED = _VIEW_ATTRS.append(pa.field(ROW, pa.uint32()))
VIEW_SCHEMAS = {
    "logs": _VIEW_LOGS,
    "log_attrs": _VIEW_ATTRS.append(pa.field(TIMESTAMP, _BIG)),
    "resource_attrs": _VIEW_SHARED,
    "scope_attrs": _VIEW_SHARED,
}
"What views are made from: rows of a window with their hidden columns."
