"""The first statement about windows: what can be set. Numbers are those of the list in docs/windows.md."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner
from windowqueries import PASS_THROUGH
from windowruns import MARGIN, MINUTE

from tailrace.cli.main import cli
from tailrace.config import load
from tailrace.core.errors import ConfigError
from tailrace.windows.spec import Temporal, read_spec

SECOND = 1_000_000_000


def test_a01_settings_of_the_document(tmp_path: Path) -> None:
    config = tmp_path / "a.tpc"
    config.write_text(
        f"""window "w" {{
  base_uri = "file://{tmp_path}/in"
  temporal {{ window_granularity = "5m" }}
  sampling {{
    sample_size = 7
    seed        = 3
  }}
  output {{ path = "{tmp_path}/out" }}
}}
window "nowhere" {{ base_uri = "{tmp_path}/in" }}
window "far" {{
  base_uri = "{tmp_path}/in"
  engine   = "spark"
  output {{ path = "s3://bucket/out" }}
}}
window "itself" {{
  base_uri = "{tmp_path}/in"
  output {{
    path   = "{tmp_path}/in"
    format = "otap_parquet"
  }}
}}"""
    )
    given, nowhere, far, itself = load([config], now=None, environ={}).of("window")  # type: ignore[arg-type]
    spec = read_spec(given)
    assert spec.temporal == Temporal(5 * MINUTE, MARGIN)
    assert (str(spec.base), spec.sample_size, spec.sampling.seed) == (f"{tmp_path}/in", 7, 3)
    assert (spec.form, spec.late_files, spec.start_at, spec.keep_undated) == ("otlp_proto", "drop", "earliest", True)
    with pytest.raises(ConfigError, match="needs a place"):
        read_spec(nowhere)
    with pytest.raises(ConfigError, match="reads and writes directories"):
        read_spec(far)
    with pytest.raises(ConfigError, match="would be read again"):
        read_spec(itself)


WHOLE = """base_uri = "/in"
  signal_types = ["logs"]
  temporal {
    window_granularity = "90s"
    processing_delay   = "10m"
    max_clock_drift    = "1m"
    max_file_duration  = "1m30s"
  }
  performance {
    batch_size                = 1000
    enable_arrow_optimization = true
    memory_limit              = "1GB"
    max_concurrent_files      = 10
    target_partitions         = 4
  }
  sampling {
    sample_size      = 50
    preserve_weights = true
    strategy         = "weighted"
  }
  output { path = "/out" }"""


def test_a01_all_settings_of_the_receiver(tmp_path: Path) -> None:
    config = tmp_path / "a.tpc"
    config.write_text(f'window "w" {{\n  {WHOLE}\n}}\n')
    (block,) = load([config], now=None, environ={}).of("window")  # type: ignore[arg-type]
    spec = read_spec(block)
    assert spec.temporal == Temporal(90 * SECOND, 750 * SECOND)
    assert (spec.batch_size, spec.target_partitions, spec.sample_size) == (1000, 4, 50)
    assert spec.query.split() == PASS_THROUGH.rstrip(";\n").split()


@pytest.mark.parametrize(
    ("setting", "instead", "reason"),
    [
        ('signal_types = ["logs"]', "granularity = 1", "granularity"), ('"90s"', '"0s"', "window_granularity"),
        ('["logs"]', '["traces"]', "traces"), ('"/in"', '"/in"\n  query = "  "', "'query' is empty"),
        ("= 50", "= 0", "sample_size"), ('"10m"', '"30s"', "less than 'max_clock_drift'"),
        ('"90s"', '"soon"', "window_granularity"), ('"weighted"', '"clever"', "strategy"),
    ],
)  # fmt: skip
def test_a01_settings_that_cannot_be_meant(setting: str, instead: str, reason: str, tmp_path: Path) -> None:
    config = tmp_path / "a.tpc"
    assert setting in WHOLE
    config.write_text(f'window "w" {{\n  {WHOLE.replace(setting, instead, 1)}\n}}\n')
    with pytest.raises(ConfigError, match=reason) as failure:
        load([config], now=None, environ={})  # type: ignore[arg-type]
    if reason == "traces":
        assert 'write signal_types = ["logs"]' in str(failure.value)


@pytest.mark.parametrize("setting", ["base_uri", "path", "state_dir"])
@pytest.mark.parametrize("below", ["", "/below"])
def test_directories_that_are_none(setting: str, below: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    places = {name: f"{tmp_path}/{name}" for name in ("base_uri", "path", "state_dir")}
    places[setting] = f"{tmp_path}/file{below}"
    config = tmp_path / "w.tpc"
    config.write_text(
        f'window "w" {{\n  base_uri = "{places["base_uri"]}"\n  state_dir = "{places["state_dir"]}"\n'
        f'  output {{\n    path = "{places["path"]}"\n  }}\n}}\n'
    )
    done = CliRunner().invoke(
        cli, ["--home", str(tmp_path / "home"), "--config-path", str(config), "window", "run", "--once"]
    )
    error = done.exception
    assert isinstance(error, ConfigError)
    assert (error.code, error.where) == ("config.no-directory", f"{config}:1:1")
    assert f"{setting}' needs a directory: {tmp_path}/file is none" in error.message
    assert error.hint == "name a directory, or move file away"
