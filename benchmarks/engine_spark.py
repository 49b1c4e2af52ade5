"""The jobs by Spark as anyone would write them: `read`, columns, `write.partitionBy`."""

from __future__ import annotations

from pyspark.sql import DataFrameReader, SparkSession
from pyspark.sql import functions as F

from columns import CLOUDTRAIL, NGINX, NGINX_REGEX, THREADS, VPC, event_type, spelled


def _read() -> DataFrameReader:
    settings: dict[str, bool | float | int | str | None] = {
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.parquet.compression.codec": "zstd",
        "spark.ui.enabled": "false",
        "spark.driver.memory": "4g",
    }
    session = SparkSession.builder.master(f"local[{THREADS}]").config(map=settings).getOrCreate()
    return session.read.option("recursiveFileLookup", "true")


def cloudtrail(logs: str, out: str, same: bool) -> None:
    """`read.json` with a schema, `explode`."""
    rows = _read().schema(f"Records ARRAY<{event_type('spark')}>").json(logs)
    columns = [F.col(f"e.{key}").alias(name) for name, (key, _) in CLOUDTRAIL.items()]
    rows = rows.select(F.explode("Records").alias("e")).select(*columns)
    rows.withColumn("tp_date", F.to_date("event_time")).write.partitionBy("tp_date").parquet(out)


def nginx(logs: str, out: str, same: bool) -> None:
    """`read.text`, one `regexp_extract` per field."""
    lines = _read().text(logs)
    fields = lines.select(*(F.regexp_extract("value", NGINX_REGEX, n + 1).alias(f) for n, f in enumerate(NGINX)))
    parts = F.split("request", " ")
    names = ("request_method", "request_uri", "server_protocol")
    rows = fields.select(
        "remote_addr",
        "time_local",
        F.to_timestamp("time_local", "dd/MMM/yyyy:HH:mm:ss Z").alias("tp_timestamp"),
        *(F.when(F.size(parts) == 3, parts[n]).alias(name) for n, name in enumerate(names)),
        F.col("status").cast("int").alias("status"),
        F.when(F.col("body_bytes_sent") != "-", F.col("body_bytes_sent").cast("long")).alias("body_bytes_sent"),
        *(
            F.when(F.col(name) != "-", F.col(name)).alias(name)
            for name in ("remote_user", "http_referer", "http_user_agent")
        ),
    )
    rows.withColumn("tp_date", F.to_date("tp_timestamp")).write.partitionBy("tp_date").parquet(out)


def vpc(logs: str, out: str, same: bool) -> None:
    """`read.csv` with a schema."""
    schema = ", ".join(f"{name} {spelled(kind, 'spark')}" for name, kind in VPC.items())
    rows = _read().schema(schema).csv(logs, sep=" ", header=True, nullValue="-")
    times = {name: F.timestamp_seconds(name) for name in ("start_time", "end_time")}
    rows = rows.withColumns({**times, "tp_date": F.to_date(F.timestamp_seconds("start_time"))})
    rows.write.partitionBy("tp_date").parquet(out)
