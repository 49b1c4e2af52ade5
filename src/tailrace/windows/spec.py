"""A `window` block as it is meant: times in nanoseconds, places, and how rows are treated."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import urlsplit

from tailrace.config.attributes import Attrs, moment
from tailrace.config.declare_live import WINDOW
from tailrace.config.functions import duration, size
from tailrace.config.model import ConnectionSpec, OtherBlock
from tailrace.core.errors import ConfigError
from tailrace.lake.located import place_at
from tailrace.lake.place import LocalPlace, Place
from tailrace.windows.asking import nanoseconds
from tailrace.windows.delivery import Endpoint
from tailrace.windows.sampling import Sampling

DELIVERABLE = ("otlp_proto", "otlp_json")
"Forms that an OTLP/HTTP address takes."
_WAITS = ("processing_delay", "max_clock_drift", "max_file_duration")


@dataclass(frozen=True, slots=True)
class Temporal:
    """Windows are aligned to 1970 and half-open; a window is ready by its age, not by that of its files."""

    granularity: int
    margin: int

    def start_of(self, time: int) -> int:
        """Of the window that a time is in."""
        return time // self.granularity * self.granularity

    def ready_through(self, now: int) -> int:
        """Windows that end here or before are ready."""
        return self.start_of(now - self.margin)


@dataclass(frozen=True, slots=True)
class WindowSpec:
    """What a window's runs need to know; it travels to tasks."""

    name: str
    base: Place
    out: Place
    form: str
    query: str
    temporal: Temporal
    start_at: str
    late_files: str
    keep_undated: bool
    sentinels: bool
    strict: bool
    unpartitioned: bool
    sampling: Sampling
    sample_size: int
    batch_size: int
    check_interval: float
    endpoint: Endpoint | None = None
    engine: str = "auto"
    target_partitions: int = 8
    "Tasks of a shuffle, where Spark answers."
    query_timeout: float = 300.0
    "Seconds; 0: as long as it takes."
    memory_limit: int = 10**9
    "Bytes that DuckDB may hold for a window."
    concurrent_windows: int | None = None
    concurrent_files: int = 10
    count_as_double: bool = False
    "Is a count that the query gives as text written as a number?"

    def first_start(self, earliest: int, now: int) -> int:
        """Of the first window ever."""
        if self.start_at == "earliest":
            return self.temporal.start_of(earliest)
        return self.temporal.start_of(now if self.start_at == "now" else nanoseconds(moment(self.start_at)))

    @property
    def digests(self) -> dict[str, str]:
        """What the rows of a window depend on beside its files."""
        told = (self.temporal, self.sampling, self.sample_size, self.keep_undated, self.sentinels, self.form)
        settings = repr((*told, self.count_as_double))
        return {"query": _digest(self.query), "config": _digest(settings), "seed": str(self.sampling.seed)}


Connected = Callable[[object], ConnectionSpec | None]


def read_spec(block: OtherBlock, connected: Connected = lambda _: None) -> WindowSpec:
    """The block with its defaults; `connected` finds what a reference to a connection means."""
    told = _settings(block, "", WINDOW.attributes)
    sampling = _settings(block, "sampling", WINDOW.blocks["sampling"].attributes)
    performance = _settings(block, "performance", WINDOW.blocks["performance"].attributes)
    output = _settings(block, "output", WINDOW.blocks["output"].attributes)
    where, most = str(block.where), performance["max_concurrent_windows"]
    if not output["path"]:
        hint = 'write output { path = "/data/out" }'
        raise ConfigError(
            "a window needs a place for its results", code="config.missing-attribute", where=where, hint=hint
        )
    waits = sum((duration(str(told[name])) for name in _WAITS), timedelta())
    base = place_at(str(told["base_uri"]), connected(told["connection"]), where)
    out = place_at(str(output["path"]), connected(output["connection"]), where)
    require_directory(base, "base_uri", where)
    require_directory(out, "output.path", where)
    if output["format"] == "otap_parquet" and str(out) == str(base):
        message, hint = "results would be read again: output.path is base_uri", "write another path"
        raise ConfigError(message, code="config.contradiction", where=where, hint=hint)
    if told["engine"] == "spark" and not (base.is_local and out.is_local):
        message, hint = "engine = spark reads and writes directories", 'write engine = "duckdb", or leave it out'
        raise ConfigError(message, code="config.contradiction", where=where, hint=hint)
    return WindowSpec(
        name=block.name,
        base=base,
        out=out,
        form=str(output["format"]),
        query=str(told["query"]),
        temporal=Temporal(_nanos(duration(str(told["window_granularity"]))), _nanos(waits)),
        start_at=str(told["start_at"]),
        late_files=str(told["late_files"]),
        keep_undated=told["undated"] == "ingest_time",
        sentinels=told["attributeless"] == "sentinel",
        strict=told["resource_resolution"] == "strict",
        unpartitioned=bool(told["allow_unpartitioned"]),
        sampling=_sampling(sampling),
        sample_size=int(sampling["sample_size"]),
        batch_size=min(int(performance["batch_size"]), 65_535),
        check_interval=duration(str(told["check_interval"])).total_seconds(),
        endpoint=_endpoint(output, where),
        engine=str(told["engine"]),
        target_partitions=int(performance["target_partitions"]),
        query_timeout=duration(str(told["query_timeout"])).total_seconds(),
        memory_limit=size(str(performance["memory_limit"])),
        concurrent_windows=None if most is None else int(most),
        concurrent_files=int(performance["max_concurrent_files"]),
        count_as_double=sampling["adjusted_count_type"] == "double",
    )


def require_directory(place: Place, setting: str, where: str) -> None:
    """ConfigError where something else is in its way; one that is not there yet may be made."""
    if not isinstance(place, LocalPlace):
        return
    there = next(path for path in (place.path, *place.path.parents) if os.path.lexists(path))
    if not there.is_dir():
        message, hint = (
            f"'{setting}' needs a directory: {there} is none",
            f"name a directory, or move {there.name} away",
        )
        raise ConfigError(message, code="config.no-directory", where=where, hint=hint)


def _endpoint(output: dict[str, Any], where: str) -> Endpoint | None:
    url = output["endpoint"]
    if not url:
        return None
    if output["format"] not in DELIVERABLE:
        message, hint = f"'{output['format']}' is not what OTLP is", f"write format = {' or '.join(DELIVERABLE)}"
        raise ConfigError(message, code="config.contradiction", where=where, hint=hint)
    if urlsplit(str(url)).scheme not in ("http", "https"):
        message, hint = f"'{url}' is no address of OTLP/HTTP", "write http://localhost:4318"
        raise ConfigError(message, code="config.wrong-value", where=where, hint=hint)
    headers = output["headers"] or {}
    return Endpoint(str(url), tuple((name, str(value)) for name, value in headers.items()))


def _sampling(told: dict[str, Any]) -> Sampling:
    uniform = told["strategy"] == "uniform" or not told["preserve_weights"]
    return Sampling(int(told["seed"]), str(told["invalid_weight"]), uniform)


def _settings(block: OtherBlock, inner: str, declared: Attrs) -> dict[str, Any]:
    found = next((b.args for b in block.blocks if b.kind == inner), {}) if inner else block.args
    return {name: found.get(name, attr.default) for name, attr in declared.items()}


def second_of(nanoseconds: int) -> tuple[datetime, str]:
    """The second since 1970, and what is beyond it: windows may be shorter than one."""
    seconds, rest = divmod(nanoseconds, 1_000_000_000)
    return datetime.fromtimestamp(seconds, UTC), f".{rest:09d}".rstrip("0") if rest else ""


def _nanos(span: timedelta) -> int:
    return span // timedelta(microseconds=1) * 1_000


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]
