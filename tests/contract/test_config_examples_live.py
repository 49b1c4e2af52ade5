"""The sink's TOML and the windows' settings and queries, as blocks."""

from __future__ import annotations

import pytest
from configtold import loaded, refused, told, with_defaults
from windowqueries import COUNTED, FILTERED, ONE_TABLE, PASS_THROUGH, PLACEHOLDERS, SAMPLED

SHORT = """
[sinks.parquet]
type = "parquet"
path = "parquet/"
compression = "snappy"   # snappy, gzip, lz4, uncompressed
rotation = "daily"       # hourly, daily
"""
WHOLE = """
[sinks.parquet]
type = "parquet"
path = "parquet/"                # Output directory (required)
rotation = "daily"               # hourly, daily (default: daily)
compression = "snappy"           # snappy, gzip, lz4, uncompressed (default: snappy)
data_format = "json"             # json, binary (default: json)
metrics_enabled = true
metrics_interval = "10s"
"""
AS_BLOCK = """
sink "parquet" {
  path             = "parquet/"
  rotation         = "daily"
  compression      = "snappy"
  data_format      = "json"
  metrics_enabled  = true
  metrics_interval = "10s"
}
"""
TEMPORAL = """
  processing_delay   = "10m"
  max_clock_drift    = "1m"
  max_file_duration  = "1m"
  window_granularity = "1m"
  safety_margin      = "12m"
"""
DEFAULTS = {
    "path": "parquet/",
    "rotation": "daily",
    "compression": "snappy",
    "data_format": "json",
    "metrics_enabled": True,
    "metrics_interval": "10s",
    "flush_interval": "10s",
    "row_group_size": 100_000,
    "partition_by": "event_time",
    "max_lateness": "7d",
    "workspace_id_type": "uint64",
    "enabled": True,
}


@pytest.mark.parametrize(
    ("text", "suffix"),
    [(SHORT, "toml"), (WHOLE, "toml"), (AS_BLOCK, "tpc")],
    ids=["TL;DR", "configuration", "as block"],
)
def test_a_sink_with_what_holds_by_default(text, suffix):
    (sink,) = loaded(text, suffix=suffix).of("sink")
    assert (sink.kind, sink.type, sink.name) == ("sink", "parquet", "parquet")
    assert with_defaults(sink) == DEFAULTS


@pytest.mark.parametrize("codec", ["snappy", "gzip", "lz4", "zstd", "uncompressed"])
@pytest.mark.parametrize("rotation", ["hourly", "daily"])
def test_everything_that_the_tables_name_is_taken(codec, rotation):
    (sink,) = loaded(
        f'[sinks.x]\ntype="parquet"\npath="p"\ncompression="{codec}"\nrotation="{rotation}"', suffix="toml"
    ).of("sink")
    assert (sink.args["compression"], sink.args["rotation"]) == (codec, rotation)


def test_which_sinks_are_active():
    assert not loaded(WHOLE, suffix="toml").warnings
    assert not loaded('[sinks.x]\ntype = "otap"\npath = "p"', suffix="toml").warnings
    assert not loaded('[sinks.x]\ntype = "lake"\ntable = "syslog"', suffix="toml").warnings


def test_settings_of_a_window():
    (window,) = loaded(f'window "minutes" {{\n  base_uri = "/data/otap"\n{TEMPORAL}}}').of("window")
    assert window.args == {
        "base_uri": "/data/otap",
        "processing_delay": "10m",
        "max_clock_drift": "1m",
        "max_file_duration": "1m",
        "window_granularity": "1m",
        "safety_margin": "12m",
    }


def test_the_document_s_values_are_the_defaults():
    given, plain = loaded(
        f'window "given" {{\n  base_uri = "/data/otap"\n{TEMPORAL}}}\nwindow "plain" {{\n  base_uri = "/data/otap"\n}}'
    ).of("window")
    assert with_defaults(given).items() - {("safety_margin", "12m")} == with_defaults(plain).items()


@pytest.mark.parametrize("form", ["temporal {{\n{0}}}", "temporal = {{\n{0}}}", "{0}"], ids=["block", "map", "flat"])
def test_times_may_be_gathered(form):
    (window,) = loaded(f'window "w" {{\n  base_uri = "/data/otap"\n{form.format(TEMPORAL)}\n}}').of("window")
    assert (window.args["processing_delay"], window.blocks) == ("10m", ())


@pytest.mark.parametrize(
    "query",
    [PASS_THROUGH, FILTERED, SAMPLED, COUNTED, PLACEHOLDERS, ONE_TABLE],
    ids=["pass-through", "filtered", "weighted sampling", "aggregation", "bare placeholders", "one table"],
)
def test_queries_are_kept_as_they_are_written(query):
    (window,) = loaded(f'window "w" {{\n  base_uri = "/o"\n  query    = <<SQL\n{query}SQL\n}}').of("window")
    assert window.args["query"] == query


def test_sampling_and_output():
    text = """
    sink "otap" "logs" {
      path = "/data/otap"
    }
    listener "otlp" {
      sinks = [sink.otap.logs]
    }
    window "sampled" {
      path = "/data/otap"
      sampling {
        sample_size = 100
        strategy    = "weighted"
      }
      output = {
        format = "otap_parquet"
        path   = "/data/out"
      }
    }
    """
    assert told(loaded(text)) == [
        "sink otap logs path=/data/otap",
        "listener otlp otlp sinks=sink.otap.logs",
        "window sampled base_uri=/data/otap",
        "  sampling sample_size=100 strategy=weighted",
        "  output format=otap_parquet path=/data/out",
    ]


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        (
            'safety_margin = "10m"',
            "'safety_margin' must be processing_delay + max_clock_drift + max_file_duration = 720s"
            " → leave it out; it is that sum",
        ),
        (
            'window_granularity = "0s"',
            "'window_granularity' must be longer than nothing → write window_granularity = \"1m\"",
        ),
        (
            'processing_delay = "30s"',
            "'processing_delay' is less than 'max_clock_drift' → events may come as late as clocks differ",
        ),
        ('query = " "', "'query' is empty → leave it out to let everything pass"),
        (
            'start_at = "soon"',
            "'soon' is no time to start at → write earliest or now, or a time such as 2024-01-31T15:04:05Z",
        ),
        ("sampling = { sample_size = 0 }", "'sample_size' must be at least 1, not 0 → write sample_size = 100"),
        (
            "sampling = { sample_size = 100000 }",
            "'sample_size' must be a whole number up to 99999 → write sample_size = 100",
        ),
        ('sampling = { stratgey = "uniform" }', "unknown attribute 'stratgey' → did you mean 'strategy'?"),
        ("sampling = 5", "'sampling' must be a block, not a number → write sampling { … }"),
        (
            'late_files = "ignore"',
            "'late_files' must be drop, emit or fail, not 'ignore' → write late_files = \"drop\"",
        ),
    ],
)
def test_settings_that_contradict_each_other(line, problem):
    assert refused(f'window "w" {{\n  base_uri = "/o"\n  {line}\n}}') == [f"3: {problem}"]
