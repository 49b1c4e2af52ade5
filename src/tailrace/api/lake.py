"""A lake for programs: `tailrace.open()`."""

from __future__ import annotations

import json
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Unpack

from tailrace.api.answer import Answer
from tailrace.api.filters import Filters, Time, checked, scope, time_text
from tailrace.api.listing import Listing
from tailrace.api.session import Session
from tailrace.api.whole import WholeTable
from tailrace.cli.options import Context

if TYPE_CHECKING:
    from tailrace.api.collecting import Reports
    from tailrace.query.engine import Engine
    from tailrace.query.spark.engine import SparkEngine

Paths = str | Path | Sequence[str | Path]
Parameters = Mapping[str, object] | Sequence[object]


class Lake:
    """One workspace: its tables, SQL over them, and collections into it.

    Every question sees the lake as it is when it is asked. A lake may be used in a `with` statement, which ends its
    Spark session; without one of those there is nothing to end.
    """

    def __init__(
        self,
        context: Context,
        *,
        sandbox: bool = False,
        timeout: float | None = None,
        memory: str | None = None,
        write: Paths = (),
    ) -> None:
        self.context = context
        self.session = Session(context)
        self.sandbox, self.timeout, self.memory = sandbox, timeout, memory
        self.write = _texts(write)

    @property
    def home(self) -> Path:
        """Where lake, logs and configuration live."""
        return self.context.home_path

    @property
    def workspace(self) -> str:
        """The name of the workspace."""
        return self.context.workspace_name

    def sql(self, text: str, params: Parameters | None = None, **filters: Unpack[Filters]) -> Answer:
        """The answer to SQL in DuckDB's dialect; it is run when the answer is first looked at.

        `params` are values for `$name` (a mapping) or `$1`, `$2` … (a sequence). The filters are those of
        `tailrace query`: `start` (`--from`), `end` (`--to`), `partition`, `index`, `schema`, `at`.

        >>> lake.sql("select count(*) as n from nginx_access_log where status = $status", {"status": 500}).rows()
        [(20,)]
        >>> lake.sql("select count(*) as n from nginx_access_log", end="2024-05-02").rows()
        [(100,)]
        """
        return Answer(self, text, params, checked(filters))

    def table(self, name: str, **filters: Unpack[Filters]) -> WholeTable:
        """All rows of a table, or those that the filters leave; `schema.table` is a table of a schema.

        >>> lake.table("nginx_access_log", start="2024-05-02").arrow().num_rows
        100
        """
        return WholeTable(self, name, checked(filters))

    def tables(self, *names: str) -> Listing:
        """Tables: built in, configured or in the lake, as `tailrace table list` shows them; names may hold wildcards.

        >>> [(table["name"], table["rows"]) for table in lake.tables("nginx_*")]
        [('nginx_access_log', 200), ('nginx_error_log', None)]
        """
        from tailrace.cli.settings import load_config, open_lake
        from tailrace.cli.table import COLUMNS, table_rows

        config = load_config(self.context)
        return Listing(table_rows(config, open_lake(self.context, config), names), COLUMNS)

    def describe(self, table: str) -> dict[str, Any]:
        """What `tailrace table show` tells: columns with types and meanings, size, partitions.

        >>> lake.describe("nginx_access_log")["columns"][7]["name"]
        'status'
        """
        from tailrace.cli.matching import chosen
        from tailrace.cli.settings import load_config, open_lake
        from tailrace.cli.table import known_tables, table_facts
        from tailrace.core.registry import ALIASES

        config = load_config(self.context)
        lake = open_lake(self.context, config)
        (name,) = chosen("table", ALIASES.get(table, table), known_tables(config, lake))
        return table_facts(config, lake, name)

    def partitions(self, *names: str) -> Listing:
        """Partitions, configured or only in the lake, as `tailrace partition list` shows them; wildcards.

        >>> [(partition["name"], str(partition["last"])) for partition in lake.partitions()]
        [('nginx_access_log.web', '2024-05-02')]
        """
        from tailrace.cli.partition import COLUMNS, partition_rows
        from tailrace.cli.settings import load_config, open_lake

        config = load_config(self.context)
        return Listing(partition_rows(config, open_lake(self.context, config), names), COLUMNS)

    def collect(
        self,
        *selectors: str,
        start: Time | None = None,
        end: Time | None = None,
        source: str | None = None,
        overwrite: bool = False,
        progress: bool | None = None,
    ) -> Reports:
        """Collects configured partitions (`table.partition`, a table or a partition; wildcards), or all of them.

        Spark runs it, in the session that is active or in one that is kept until the lake is closed. Raises
        `CollectError` when something could not be read or stored; the rest is stored nevertheless.
        """
        from tailrace.api.collecting import collect
        from tailrace.cli.choice import Choice
        from tailrace.cli.collecting import Order

        choice = Choice(selectors, (), None, None, source)
        order = Order(choice, time_text(start), time_text(end), overwrite)
        return collect(order, self.context, self.session, progress)

    def engine(self, filters: Filters) -> Engine:
        """DuckDB over the lake as it is now, with what the filters leave of it."""
        from tailrace.query.engine import Engine

        return Engine(*self._seen(filters))

    def spark_engine(self, filters: Filters) -> SparkEngine:
        """The same with Spark."""
        from tailrace.query.spark.engine import SparkEngine

        return SparkEngine(*self._seen(filters), session=self.session.get)

    def _seen(self, filters: Filters) -> tuple[Any, ...]:
        """What an engine is made of."""
        from tailrace.cli.seeing import Configured, is_default
        from tailrace.cli.settings import open_lake
        from tailrace.cli.sink_tables import beside
        from tailrace.query.limits import Limits

        stored = open_lake(self.context)
        is_needed = not is_default(filters.get("schema", "tailrace"))
        configured = Configured(self.context, required=is_needed, warn=_warn)
        limits = Limits(self.sandbox, self.write, self.timeout, self.memory)
        seen = scope(stored, configured, filters)
        given = (stored, configured.tables, configured.schemas, seen, None, limits, configured.tiers)
        return *given, beside(configured, seen, limits)

    def close(self) -> None:
        """Ends the Spark session, if there is one and it was started here."""
        self.session.stop()

    def __enter__(self) -> Lake:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Lake({str(self.home)!r}, workspace={self.workspace!r})"


def context_of(
    home: str | Path | None,
    workspace: str | None,
    config_path: Paths,
    variables: Mapping[str, object] | None,
    master: str | None,
    remote: str | None,
    spark_conf: Mapping[str, object] | None,
    java_home: str | Path | None,
) -> Context:
    """Arguments of `tailrace.open` as the options that they stand for."""
    return Context(
        home=None if home is None else str(home),
        workspace=workspace,
        config_path=_texts(config_path),
        var=tuple(f"{name}={_word(value)}" for name, value in (variables or {}).items()),
        master=master,
        remote=remote,
        spark_conf=tuple(f"{name}={_word(value)}" for name, value in (spark_conf or {}).items()),
        java_home=None if java_home is None else str(java_home),
        quiet=True,
    )


def _texts(paths: Paths) -> tuple[str, ...]:
    return (str(paths),) if isinstance(paths, str | Path) else tuple(map(str, paths))


def _word(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _warn(message: str) -> None:
    warnings.warn(message, stacklevel=2)
