"""Schemas as the configuration declares them, for those who query."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from datetime import date

    from tailrace.config import Config, OtherBlock
    from tailrace.query.filters import Schema


def schemas_of(config: Config) -> list[Schema]:
    """The declared ones; the default one needs no declaration."""
    return [_schema(block) for block in config.of("schema")]


def _schema(block: OtherBlock) -> Schema:
    from tailrace.cli.describe import with_defaults
    from tailrace.config.declare import SCHEMA
    from tailrace.query.filters import Schema

    given = with_defaults(block.args, SCHEMA)
    return Schema(
        block.name,
        tables=_texts(given["tables"]),
        partitions=_texts(given["partitions"]),
        indexes=_texts(given["indexes"]),
        stores=_texts(given["stores"]),
        first=_day(given["start_date"]),
        last=_day(given["end_date"]),
        materialized=bool(given["materialized"]),
    )


def _texts(value: object) -> tuple[str, ...]:
    return tuple(map(str, value)) if isinstance(value, list | tuple) else (str(value),)


def _day(text: object) -> date | None:
    """A time stands for its whole day, in UTC."""
    from tailrace.config.attributes import moment

    return None if text is None else moment(str(text)).date()
