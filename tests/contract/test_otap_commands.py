"""Results of windows in every form, and the commands that write them."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import owntime
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from otaptables import START, simple, told_by_tables, write
from otlprequests import Request, Told, told_by_request
from windowqueries import COUNTED, SAMPLED
from windowruns import MINUTE, results, run, told

from tailrace.cli.main import cli

SECOND = 1_000_000_000


def minutes(count: int, name: str = "shop") -> list[Request]:
    return [simple(name, ["a", "b"], attributes=n % 3 > 0, time=START + n * MINUTE) for n in range(count)]


def all_of(requests: list[Request]) -> Told:
    return sum(map(told_by_request, requests), Counter())


def test_results_in_every_form(tmp_path: Path) -> None:
    write(tmp_path / "in", *minutes(3))
    for form in ("otlp_json", "otap_parquet", "parquet"):
        root = tmp_path / form
        root.mkdir()
        (root / "in").symlink_to(tmp_path / "in")
        run(root, form=form)
    assert len(results(tmp_path / "otlp_json")) == 3
    assert told_by_tables(tmp_path / "otap_parquet" / "out") == all_of(minutes(3))
    rows = [pq.read_table(path) for path in (tmp_path / "parquet" / "out").glob("*.parquet")]
    assert {"_part_id", "parent_id", "key"} <= set(rows[0].column_names)
    chained = tmp_path / "chained"
    chained.mkdir()
    (chained / "in").symlink_to(tmp_path / "otap_parquet" / "out")
    assert run(chained).state.windows == 3
    assert told(chained) == all_of(minutes(3))
    report = tmp_path / "report"
    report.mkdir()
    (report / "in").symlink_to(tmp_path / "in")
    run(report, query=COUNTED.replace("'service.name'", "'of'"))
    assert [name.endswith(".parquet") for name in results(report)] == [True] * 3


def test_the_command(tmp_path: Path) -> None:
    write(tmp_path / "in", *minutes(3))
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "w.tpc").write_text(
        f'window "sampled" {{\n  base_uri = "{tmp_path}/in"\n  query = <<SQL\n{SAMPLED}SQL\n'
        f'  start_at = "earliest"\n  output {{\n    path   = "{tmp_path}/out"\n    format = "otlp_json"\n  }}\n}}\n'
    )
    home = ["--home", str(tmp_path)]
    until = "2026-09-21T14:17:00Z"
    page = tmp_path / "metrics.prom"
    told = ["--output", "json", "--metrics-file", str(page)]
    done = CliRunner().invoke(cli, ["window", "run", "--until", until, *told, *home])
    assert done.exit_code == 0, (done.output, done.exception)
    assert [row["selected"] for row in json.loads(done.stdout)["windows"]] == [2, 2, 2]
    assert all("sampling.adjusted_count" in body.decode() for body in results(tmp_path).values())
    metrics = page.read_text()
    for name, value in (("windows", 3), ("window_logs", 6), ("window_files", 3), ("window_late_files", 0)):
        assert f'tailrace_{name}_total{{window="sampled"}} {value}\n' in metrics
    assert f'tailrace_window_through_timestamp_seconds{{window="sampled"}} {START // SECOND + 180}\n' in metrics
    again = CliRunner().invoke(cli, ["window", "run", "sam*", "--until", until, *home])
    assert (again.exit_code, "nothing is ready" in again.stderr) == (0, True)
    status = CliRunner().invoke(cli, ["window", "status", "--output", "json", *home])
    (row,) = json.loads(status.stdout)
    assert (row["finished"], row["through"], row["safety_margin"]) == (3, until, "720s")


def test_the_command_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every look tells what it has finished, and no more than that."""
    write(tmp_path / "in", *minutes(1))
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "w.tpc").write_text(
        f'window "all" {{\n  base_uri = "{tmp_path}/in"\n  start_at = "2026-09-21T14:14:00Z"\n'
        f'  check_interval = "7s"\n  late_files = "emit"\n  output {{ path = "{tmp_path}/out" }}\n}}\n'
    )
    slept: list[float] = []

    def sleep(seconds: float) -> None:
        slept.append(seconds)
        if len(slept) == 2:
            raise KeyboardInterrupt
        write(tmp_path / "in", simple("late", ["x"]))

    owntime.give(monkeypatch, "tailrace.cli.window_runs", sleep=sleep)
    done = CliRunner().invoke(cli, ["window", "run", "--output", "json", "--home", str(tmp_path)])
    assert slept == [7.0, 7.0]
    first, second = (json.loads(text) for text in done.stdout.replace("}\n{", "}\0{").split("\0"))
    assert [row["late"] for row in (*first["windows"], *second["windows"])] == [0, 1]
