"""OTAP tables for the benchmark of windows: logs of twenty services, six attributes each."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa

from tailrace.lake.place import LocalPlace
from tailrace.windows.schema import ATTRS, LOGS, NANOS, RESOURCE, SCOPE, Tables, fitted
from tailrace.windows.writer import OtapWriter

MINUTE = 60_000_000_000
START = 1_790_000_040_000_000_000
SERVICES = 20
KEYS = ("http.method", "http.status_code", "user", "duration", "ok", "region")


def tables(count: int, first: int, width: int) -> Tables:
    """Logs spread evenly over a span of time, of as many resources as there are services."""
    numbers = np.arange(count)
    owners = numbers * SERVICES // count
    struct = {
        "resource": pa.StructArray.from_arrays(
            [pa.array(owners, pa.uint32()), pa.nulls(count, pa.string()), pa.nulls(count, pa.uint32())],
            fields=list(RESOURCE),
        ),
        "scope": pa.StructArray.from_arrays(
            [pa.array(owners, pa.uint32()), pa.repeat("lib", count), pa.nulls(count, pa.string()),
             pa.nulls(count, pa.uint32())], fields=list(SCOPE),
        ),
    }  # fmt: skip
    logs = pa.table(
        {
            "id": pa.array(numbers, pa.uint32()),
            **struct,
            "time_unix_nano": pa.array(first + numbers * width // count).cast(pa.timestamp("ns")),
            "severity_number": pa.array(np.where(numbers % 20 == 0, 17, 9), pa.int32()),
        }
    )
    names = pa.table({"parent_id": np.arange(SERVICES), "key": ["service.name"] * SERVICES, "type": [1] * SERVICES,
                      "str": [f"service {n}" for n in range(SERVICES)]})  # fmt: skip
    resource_attrs = fitted(names, ATTRS)
    return Tables(fitted(logs, LOGS), _attributes(count), resource_attrs, ATTRS.empty_table())


def _attributes(count: int) -> pa.Table:
    parents = np.repeat(np.arange(count), len(KEYS))
    places = np.tile(np.arange(len(KEYS)), count)
    types = np.array([1, 2, 1, 3, 4, 1])[places]
    texts = pa.array([f"user {n}" for n in range(1_000)])
    rows = pa.table(
        {
            "parent_id": parents,
            "key": pa.array(KEYS).take(pa.array(places)),
            "type": types,
            "str": texts.take(pa.array(np.where(types == 1, parents % 1_000, 0), mask=types != 1)),
            "int": pa.array(200 + parents % 300, mask=types != 2),
            "double": pa.array(parents / 7, mask=types != 3),
            "bool": pa.array(parents % 2 == 0, mask=types != 4),
        }
    )
    return fitted(rows, ATTRS)


def write(base: Path, windows: int, size: int, per_file: int) -> None:
    """A window's logs behind those of the one before, with other times and ids; the rest is the same."""
    made = tables(size, 0, MINUTE)
    place = LOGS.get_field_index("time_unix_nano")
    offsets = made.logs["time_unix_nano"].cast(pa.int64()).to_numpy()
    with OtapWriter(LocalPlace(str(base)), rows_per_file=per_file) as writer:
        for number in range(windows):
            times = pa.array(START + number * MINUTE + offsets).cast(NANOS)
            logs = made.logs.set_column(place, LOGS.field(place), times)
            writer.write(replace(made, logs=logs))
