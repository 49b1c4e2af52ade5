"""The jobs by Polars' streaming engine.

CloudTrail is missing: Polars has no way to keep a nested value of any shape as JSON text.
"""

from __future__ import annotations

import polars as pl

from columns import NGINX, NGINX_REGEX, VPC


def _sink(rows: pl.LazyFrame, out: str) -> None:
    rows.sink_parquet(pl.PartitionBy(out, key="tp_date"), compression="zstd", mkdir=True)


def nginx(logs: str, out: str, same: bool) -> None:
    """Whole lines by the CSV scanner, then `extract_groups`."""
    lines = pl.scan_csv(f"{logs}/**/*.gz", separator="\x01", quote_char=None, has_header=False, new_columns=["line"])
    fields = lines.select(pl.col("line").str.extract_groups(NGINX_REGEX)).unnest("line")
    fields = fields.rename({str(n + 1): name for n, name in enumerate(NGINX)})
    parts = pl.col("request").str.split(" ")
    names = ("request_method", "request_uri", "server_protocol")
    time = pl.col("time_local").str.to_datetime("%d/%b/%Y:%H:%M:%S %z", time_unit="us")
    rows = fields.select(
        "remote_addr",
        "time_local",
        time.dt.replace_time_zone(None).alias("tp_timestamp"),
        *(
            pl.when(parts.list.len() == 3).then(parts.list.get(n, null_on_oob=True)).alias(name)
            for n, name in enumerate(names)
        ),
        pl.col("status").cast(pl.Int32),
        pl.col("body_bytes_sent").cast(pl.Int64, strict=False),
        *(
            pl.when(pl.col(name) != "-").then(pl.col(name)).alias(name)
            for name in ("remote_user", "http_referer", "http_user_agent")
        ),
    )
    _sink(rows.with_columns(pl.col("tp_timestamp").dt.date().alias("tp_date")), out)


def vpc(logs: str, out: str, same: bool) -> None:
    """`scan_csv` with a schema."""
    types = {"text": pl.String, "int": pl.Int32, "long": pl.Int64}
    rows = pl.scan_csv(
        f"{logs}/**/*.gz",
        separator=" ",
        quote_char=None,
        has_header=False,
        skip_rows=1,
        null_values="-",
        schema={name: types[kind] for name, kind in VPC.items()},
    )
    times = (pl.from_epoch(name, time_unit="s").dt.cast_time_unit("us") for name in ("start_time", "end_time"))
    rows = rows.with_columns(*times)
    _sink(rows.with_columns(pl.col("start_time").dt.date().alias("tp_date")), out)
