from __future__ import annotations

from contextlib import suppress
from datetime import datetime

import pytest
from configtold import with_defaults
from hypothesis import given
from hypothesis import strategies as st

from tailrace.config import ConfigErrors
from tailrace.config.load import load_texts
from tailrace.config.places import Text


@pytest.fixture
def load_toml(tmp_path, load_path):
    def run(text: str, *more: str):
        (tmp_path / "live.toml").write_text(text)
        for number, other in enumerate(more):
            (tmp_path / f"{number}.tpc").write_text(other)
        return load_path(tmp_path)

    return run


def test_a_sink(load_toml):
    (sink,) = load_toml('[sinks.archive]\ntype = "parquet"\npath = "parquet/"\nrotation = "hourly"\n').of("sink")
    assert (sink.type, sink.name) == ("parquet", "archive")
    assert sink.args == {"path": "parquet/", "rotation": "hourly"}
    assert with_defaults(sink)["compression"] == "snappy"
    assert (sink.where.line, sink.where.column) == (1, 2)


def test_tables_inside_are_blocks_inside(load_toml):
    text = """
[sinks.parquet]
path = "out"

[[sinks.parquet.transform]]
type = "redact"
patterns = ["email"]

[[sinks.parquet.transform]]
type = "sample"
rate = 0.5

[windows.errors]
base_uri = "/otap"
start_at = 2024-01-31T15:04:05Z
temporal = { processing_delay = "5m" }
"""
    config = load_toml(text)
    (sink,), (window,) = config.of("sink"), config.of("window")
    assert [(inner.type, inner.args) for inner in sink.blocks] == [
        ("redact", {"patterns": ("email",)}),
        ("sample", {"rate": 0.5}),
    ]
    assert window.args == {"base_uri": "/otap", "start_at": "2024-01-31T15:04:05+00:00", "processing_delay": "5m"}


def test_blocks_of_both_languages_know_each_other(load_toml):
    config = load_toml('[sinks.parquet]\npath = "x"\n', 'listener "http" {\n sinks = [sink.parquet]\n}')
    assert [block.kind for block in config.others] == ["listener", "sink"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[sinks.parquet]\npath = \n", "2:8: not TOML: Invalid value"),
        ('[sink.parquet]\npath = "x"\n', "1:2: unknown table 'sink'"),
        ('sinks = "x"\n', "1:1: 'sinks' holds tables"),
        ('[sinks.parquet]\npath = "x"\nrotatoin = "daily"\n', "3:1: unknown attribute 'rotatoin'"),
        ('[sinks.parquet]\npath = "x"\nrotation = "weekly"\n', "3:12: 'rotation' must be daily or hourly"),
        (
            '[sinks.parquet]\npath = "x"\nmetrics_interval = "10 s"\n',
            "3:20: 'metrics_interval': '10 s' is not a duration",
        ),
        ('[sinks.parquet]\nrotation = "daily"\n', "1:2: a parquet sink needs 'path'"),
        ('[sinks.archive]\npath = "x"\n', "1:2: sink archive has no type"),
        ('[sinks.archive]\ntype = "parkuet"\npath = "x"\n', "2:8: unknown sink type 'parkuet'"),
    ],
)
def test_errors_name_line_and_column(load_toml, text, message):
    with pytest.raises(ConfigErrors) as raised:
        load_toml(text)
    (problem,) = raised.value.errors
    assert str(problem).split("live.toml:")[1].startswith(message)


def test_what_leads_into_a_broken_file_is_not_blamed(load_toml):
    with pytest.raises(ConfigErrors) as raised:
        load_toml("[sinks.parquet]\npath = \n", 'listener "http" {\n sinks = [sink.parquet]\n}')
    assert [problem.code for problem in raised.value.errors] == ["config.syntax"]


def test_not_utf8(tmp_path, load_path):
    (tmp_path / "a.toml").write_bytes(b'[sinks.parquet]\npath = "\xff"\n')
    with pytest.raises(ConfigErrors, match=r"a\.toml:2:9: the file is not UTF-8"):
        load_path(tmp_path / "a.toml")


WHOLE = """
[sinks.parquet]
type = "parquet"
path = 'parquet/'
row_group_size = 1_000
enabled = true

[[sinks.parquet.transform]]
type = "sample"
rate = 0.5

[windows."w"]
base_uri = "/otap"
start_at = 2024-01-31T15:04:05Z
sampling = { sample_size = 100, seed = nan }
"""


@given(
    at=st.integers(0, len(WHOLE)),
    length=st.integers(0, 12),
    text=st.sampled_from(
        ["", "[", "]]", "=", '"', "\n", "nan", "-inf", "9" * 5000, "{}", "[[sinks.x]]\n", "\0", "é", "."]
    ),
)
def test_any_text_loads_or_is_refused(at, length, text):
    data = WHOLE[:at] + text + WHOLE[at + length :]
    with suppress(ConfigErrors):
        config = load_texts([Text("a.toml", data.encode())], now=datetime(2024, 3, 31), environ={})
        assert {block.kind for block in config.others} <= {"sink", "window"}
