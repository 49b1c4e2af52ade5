"""What a configuration says and its lake cannot follow: tiers that other machines would not see, and other types."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa

    from tailrace.cli.options import Context
    from tailrace.config import Config
    from tailrace.config.places import Problem
    from tailrace.core.errors import LakeError
    from tailrace.lake.paths import Lake


def tiers_gone_wrong(context: Context, config: Config) -> list[Problem]:
    """Tiers in which no day of the workspace may rest, or of which it cannot be said which days do."""
    from tailrace.cli.settings import open_lake
    from tailrace.cli.tiers import declares_tiers, wrong_tiers
    from tailrace.core import ConfigError

    if declares_tiers(config):
        with suppress(ConfigError):  # of the workspace itself others tell
            return [*wrong_tiers(config, open_lake(context, config))]
    return []


def other_types(context: Context, config: Config, *, far: bool) -> list[Problem]:
    """Columns that are stored in another type than is declared; `far`: also of a lake that is in an object store."""
    from tailrace.cli.settings import open_lake
    from tailrace.core import ConfigError

    if not config.tables:
        return []
    with suppress(ConfigError):
        lake = open_lake(context, config)
        if lake.data_root.is_local or far:
            return [*_other_types(config, lake)]
    return []


def _other_types(config: Config, lake: Lake) -> Iterator[Problem]:
    from tailrace.config import tables_for
    from tailrace.core import ConfigError, LakeError
    from tailrace.core.arrow import arrow_schema
    from tailrace.lake.stored import tables

    stored = set(tables(lake))
    for spec in config.tables:
        if spec.name in stored:
            # What is wrong with the declaration, or the log, is told elsewhere.
            with suppress(ConfigError, LakeError):
                for column, error in _differing(lake, spec.name, arrow_schema(tables_for(config, spec.name))):
                    where = config.outline.value(spec.where, f"column {column}", "type")
                    yield config.outline.problem(where, error.message, code="type-change", hint=error.hint)


def _differing(lake: Lake, table: str, declared: pa.Schema) -> list[tuple[str, LakeError]]:
    """Names of columns, and what a collection would say of them."""
    import pyarrow as pa

    from tailrace.core.errors import LakeError
    from tailrace.lake.retyping import needs_no_type
    from tailrace.lake.table import missing_fields, open_table

    root = lake.table_root(table)
    delta = open_table(root)
    stored = pa.schema(delta.schema())
    found: list[tuple[str, LakeError]] = []
    for field in declared:
        try:
            missing_fields(stored, pa.schema([field]), delta.table_uri)
        except LakeError as error:
            found.append((field.name, error))
    return [] if found and needs_no_type(delta, root) else found
