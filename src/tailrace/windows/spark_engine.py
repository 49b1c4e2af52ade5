"""A window's SQL, run by Spark on the window's files: the rows that DuckDB gives, and the same sample.

The answer is staged as Parquet by Spark's tasks. Logs that it selects are then put together by one task, as those of
every window are: no rows pass through the driver.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import cache
from itertools import islice
from queue import SimpleQueue
from typing import TYPE_CHECKING

import sqlglot

from tailrace.core.errors import QueryError, one_line
from tailrace.windows.data import ROW_BITS
from tailrace.windows.files import OtapFile, file_number
from tailrace.windows.limits import limited
from tailrace.windows.schema import ATTRIBUTES, PART_ID, TABLES
from tailrace.windows.sources import Source
from tailrace.windows.spec import WindowSpec
from tailrace.windows.sql import rewritten, window_values
from tailrace.windows.state import STAGED, Done
from tailrace.windows.tasks import run_on_spark
from tailrace.windows.unit import Unit, Wanted, label
from tailrace.windows.views import views

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_VALUES = "type INT, str STRING, int BIGINT, double DOUBLE, bool BOOLEAN, bytes BINARY, ser BINARY"
_LOGS = f"""id BIGINT,
    resource STRUCT<id: BIGINT, schema_url: STRING, dropped_attributes_count: BIGINT>,
    scope STRUCT<id: BIGINT, name: STRING, version: STRING, dropped_attributes_count: BIGINT>,
    schema_url STRING, time_unix_nano BIGINT, observed_time_unix_nano BIGINT, trace_id BINARY, span_id BINARY,
    severity_number INT, severity_text STRING, body STRUCT<{_VALUES}>,
    dropped_attributes_count BIGINT, event_name STRING, flags BIGINT"""
_SCHEMAS = {"logs": _LOGS, **dict.fromkeys(ATTRIBUTES, f"parent_id BIGINT, key STRING, {_VALUES}")}
"Types are told, not found out: Spark refuses to infer times in nanoseconds, and takes numbers of any width so."
_PLAIN = re.compile(r"(?!.*(?:__HIVE_DEFAULT_PARTITION__|_part_id=/))[\w /.,:=+@~-]*")


def run_by_spark(spark: SparkSession, units: list[Unit]) -> Iterator[list[Done]]:
    """Windows whose queries Spark answers, as many at a time as may be; they are then finished in tasks."""
    spec = units[0].spec
    windows = [wanted for unit in units for wanted in unit.windows]
    most = min(spec.concurrent_windows or 1, len(windows))
    sessions: SimpleQueue[SparkSession] = SimpleQueue()
    for _ in range(most):
        # Its views are those of one window.
        sessions.put(spark.newSession())

    def staged(wanted: Wanted) -> Wanted:
        session = sessions.get()
        try:
            return _staged(session, spec, wanted)
        finally:
            sessions.put(session)

    if most == 1:
        found = iter([staged(wanted) for wanted in windows])
    else:
        with ThreadPoolExecutor(most, "windows") as pool:
            found = iter(list(pool.map(staged, windows)))
    return run_on_spark(spark, [replace(unit, windows=tuple(islice(found, len(unit.windows)))) for unit in units])


def _staged(session: SparkSession, spec: WindowSpec, wanted: Wanted) -> Wanted:
    if not all(source.ours for source in wanted.sources) or not _spelled_alike(spec, wanted.sources):
        # Whose resource a log has is found by reading such files in their order: the task does that, and asks too.
        return wanted
    folder = f"{STAGED}/{uuid.uuid4().hex}-answer"
    # The session is this window's alone. A tag would be known to the thread that has set it only.
    with limited(session.interruptAll, spec.query_timeout, label(wanted)):
        _answered(session, spec, wanted, folder)
    return replace(wanted, answer=folder)


def _answered(session: SparkSession, spec: WindowSpec, wanted: Wanted, folder: str) -> None:
    session.conf.set("spark.sql.shuffle.partitions", str(spec.target_partitions))
    values = window_values(wanted.start, wanted.start + spec.temporal.granularity, spec.sample_size)
    sampling = replace(spec.sampling, parts=tuple(dict.fromkeys(source.file.part_id for source in wanted.sources)))
    try:
        register(session, spec, wanted)
        found = session.sql(rewritten(spec.query, "spark", values, sampling))
        if {PART_ID, "parent_id"} <= set(found.columns):
            # Logs are put in order when they are written.
            found = session.sql(rewritten(spec.query, "spark", values, sampling, ordered=False))
        found.coalesce(1).write.parquet(f"{spec.out.uri}/{folder}")
    except Exception as error:
        if not type(error).__module__.startswith(("pyspark.errors", "py4j.")):
            raise
        hint = 'DuckDB may answer it: engine = "duckdb"'
        raise QueryError(one_line(error), code="query.failed", hint=hint) from None


def register(session: SparkSession, spec: WindowSpec, wanted: Wanted) -> None:
    """The tables and views of a window under their names."""
    end = wanted.start + spec.temporal.granularity
    files = _files(wanted.sources)
    _read(session, spec, "logs", files["logs"]).createOrReplaceTempView("logs_files")
    numbers = _map({file.name: f"{file_number(file.name)}L" for file in files["logs"]})
    created = _map({file.name: f"{file.created_ms * 1_000_000}L" for file in files["logs"]})
    never = created if spec.keep_undated else "CAST(NULL AS BIGINT)"
    session.sql(
        f"""SELECT * EXCEPT (file_name, row_index, otap_id, timestamp_unix_nano), otap_id, timestamp_unix_nano,
        resource.id AS resource_id, scope.id AS scope_id
        FROM (SELECT {PART_ID}, coalesce(id, -1L - (shiftleft({numbers}, {ROW_BITS}) | row_index)) AS id,
            * EXCEPT ({PART_ID}, id), id AS otap_id,
            CASE WHEN time_unix_nano > 0 THEN time_unix_nano
                WHEN observed_time_unix_nano > 0 THEN observed_time_unix_nano
                ELSE {never} END AS timestamp_unix_nano
            FROM logs_files)
        WHERE timestamp_unix_nano >= {wanted.start}L AND timestamp_unix_nano < {end}L"""
    ).createOrReplaceTempView("logs")
    for name, own in zip(ATTRIBUTES, ("otap_id", "resource_id", "scope_id"), strict=True):
        _read(session, spec, name, files[name]).createOrReplaceTempView(f"{name}_files")
        session.sql(
            f"""SELECT a.* FROM {name}_files AS a
            LEFT SEMI JOIN logs AS l ON l.{own} = a.parent_id AND l.{PART_ID} = a.{PART_ID}"""
        ).createOrReplaceTempView(name)
    for name, query in _views(spec.sentinels).items():
        session.sql(query).createOrReplaceTempView(name)


@cache
def _views(sentinels: bool) -> dict[str, str]:
    return {
        name: sqlglot.transpile(query, read="duckdb", write="spark")[0]
        for name, query in views(sentinels=sentinels).items()
    }


def _spelled_alike(spec: WindowSpec, sources: Iterable[Source]) -> bool:
    """Does Spark take the addresses for what they say? `%2F` is a slash to it, and a star stands for other files."""
    return all(_PLAIN.fullmatch(spec.base.address(source.file.name)) for source in sources)


def _files(sources: Iterable[Source]) -> dict[str, list[OtapFile]]:
    """By table; files of attributes may be those of several files of logs."""
    found: dict[str, dict[str, OtapFile]] = {name: {} for name in TABLES}
    for source in sources:
        for files in ((source.file,), *source.attributes):
            for file in files:
                found[file.table][file.name] = file
    return {name: list(files.values()) for name, files in found.items()}


def _read(session: SparkSession, spec: WindowSpec, table: str, files: list[OtapFile]) -> DataFrame:
    """Files by name: what is not the window's is not even listed. An absent table is an empty one."""
    schema = f"{_SCHEMAS[table]}, {PART_ID} STRING"
    hidden = ["_metadata.file_name", "_metadata.row_index"] if table == "logs" else []
    if not files:
        return session.createDataFrame([], schema)
    reader = session.read.schema(schema).option("basePath", f"{spec.base.uri}/{table}")
    return reader.parquet(*(spec.base.address(file.name) for file in files)).select("*", *hidden)


def _map(values: dict[str, str]) -> str:
    # Partitions may hold files of the same name, of which the same is told.
    told = {name.rpartition("/")[2]: value for name, value in values.items()}
    pairs = ", ".join(f"'{name}', {value}" for name, value in told.items())
    return f"element_at(map({pairs}), file_name)"
