"""Statements about windows of time; numbers are those of the list in docs/windows.md."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st
from otaptables import START, simple, told_by_tables, write
from otlprequests import Request, Told, told_by_request
from upstreamfiles import Exporter
from windowqueries import COUNTED, SAMPLED
from windowruns import MARGIN, MINUTE, places, results, run, spec_at, started, told

from tailrace.cli.main import cli
from tailrace.config import load
from tailrace.core.errors import ConfigError, DataError, LockedError
from tailrace.windows.catalog import Catalog
from tailrace.windows.run import locked
from tailrace.windows.spec import Temporal, read_spec

SECOND = 1_000_000_000


def minutes(count: int, name: str = "shop") -> list[Request]:
    return [simple(name, ["a", "b"], attributes=n % 3 > 0, time=START + n * MINUTE) for n in range(count)]


def all_of(requests: list[Request]) -> Told:
    return sum(map(told_by_request, requests), Counter())


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
window "later" {{
  base_uri = "{tmp_path}/in"
  engine   = "spark"
  output {{ path = "{tmp_path}/out" }}
}}"""
    )
    given, nowhere, later = load([config], now=None, environ={}).of("window")  # type: ignore[arg-type]
    spec = read_spec(given)
    assert spec.temporal == Temporal(5 * MINUTE, MARGIN)
    assert (str(spec.base), spec.sample_size, spec.sampling.seed) == (f"{tmp_path}/in", 7, 3)
    assert (spec.form, spec.late_files, spec.start_at, spec.keep_undated) == ("otlp_proto", "drop", "earliest", True)
    with pytest.raises(ConfigError, match="needs a place"):
        read_spec(nowhere)
    with pytest.raises(ConfigError, match="does not work yet"):
        read_spec(later)


@given(st.integers(0, 2**62), st.sampled_from([SECOND, 7 * SECOND, MINUTE, 5 * MINUTE, 60 * MINUTE]))
def test_a02_every_time_is_in_one_window(time: int, size: int) -> None:
    temporal = Temporal(size, 0)
    start = temporal.start_of(time)
    assert start % size == 0
    assert start <= time < start + size
    assert temporal.start_of(start + size) == start + size


def test_a03_a_window_waits_for_its_margin_exactly(tmp_path: Path) -> None:
    write(tmp_path / "in", *minutes(1))
    ready = START + MINUTE + MARGIN
    assert run(tmp_path, ready - 1).state.windows == 0
    assert results(tmp_path) == {}
    assert run(tmp_path, ready).state.windows == 1
    assert told(tmp_path) == all_of(minutes(1))


def test_a04_a_young_file_counts(tmp_path: Path) -> None:
    """Files are written now, long after their windows."""
    write(tmp_path / "in", *minutes(2))
    assert run(tmp_path).state.windows == 2


def test_a05_logs_without_a_time(tmp_path: Path) -> None:
    request = simple("shop", ["observed", "never", "dated"])
    observed, never, _ = request[0]["scopes"][0]["records"]
    observed |= {"time": 0, "observed": START + 3 * MINUTE}
    never["time"] = 0
    write(tmp_path / "in", request)
    (file,) = (tmp_path / "in" / "logs").rglob("*.parquet")
    created = int(file.name.split("-")[1])
    file.rename(file.with_name(file.name.replace(str(created), str(START // 1_000_000 + 120_000))))
    kept = run(tmp_path)
    assert (kept.state.windows, kept.state.undated) == (3, 1)
    assert told(tmp_path) == all_of([request])
    dropped = tmp_path / "dropped"
    (dropped).mkdir()
    (dropped / "in").symlink_to(tmp_path / "in")
    assert run(dropped, keep_undated=False).state.windows == 2


def test_a09_a_file_is_opened_once_and_windows_read_their_own(tmp_path: Path) -> None:
    write(tmp_path / "in", *minutes(8), rows_per_file=1)
    catalog = Catalog(spec_at(tmp_path), places(tmp_path).root)
    catalog.look()
    assert catalog.opened == 8
    assert [sorted(starts) for starts in catalog.files.values()] == [[START + n * MINUTE] for n in range(8)]
    again = Catalog(spec_at(tmp_path), places(tmp_path).root)
    again.look()
    assert (again.opened, again.files) == (0, catalog.files)
    last = run(tmp_path).state.last
    assert last is not None
    assert [len(done.files) for done in last.windows] == [1] * 8


@pytest.mark.parametrize("policy", ["drop", "emit", "fail"])
def test_a12_files_that_come_too_late(policy: str, tmp_path: Path) -> None:
    write(tmp_path / "in", *minutes(3))
    run(tmp_path, START + 4 * MINUTE + MARGIN, late_files=policy)
    before = results(tmp_path)
    # It holds a minute that is finished and one that is to come.
    late = [simple("late", ["x"], time=START + MINUTE), simple("late", ["y"], time=START + 6 * MINUTE)]
    write(tmp_path / "in", *late)
    if policy == "fail":
        with pytest.raises(DataError, match="after their windows were finished"):
            run(tmp_path, late_files=policy)
        assert results(tmp_path) == before
        return
    for _ in range(2):
        state = run(tmp_path, late_files=policy).state
        assert (state.late_files, state.late_rows) == (1, 1)
    after = results(tmp_path)
    assert {name: after[name] for name in before} == before
    expected = all_of(minutes(3)) + told_by_request(late[1])
    assert told(tmp_path) == (expected + told_by_request(late[0]) if policy == "emit" else expected)
    assert sum("late-1" in name for name in after) == (policy == "emit")


def test_a14_a_restart_goes_on_where_it_was(tmp_path: Path) -> None:
    requests = minutes(9)
    write(tmp_path / "in", *requests[:2], *requests[5:])
    finished = [run(tmp_path, START + n * MINUTE + MARGIN).state for n in (1, 4, 4, 9)]
    assert [state.windows for state in finished] == [1, 2, 2, 6]
    assert [state.through for state in finished] == [START + n * MINUTE for n in (1, 4, 4, 9)]
    assert told(tmp_path) == all_of(requests[:2] + requests[5:])
    later = run(tmp_path, START + 20 * MINUTE + MARGIN).state
    assert (later.windows, later.through) == (6, START + 20 * MINUTE)


def test_the_first_window(tmp_path: Path) -> None:
    write(tmp_path / "in", *minutes(4))
    begun = run(tmp_path, START + 2 * MINUTE + 1, start_at="now").state
    assert (begun.windows, begun.through) == (0, START + 2 * MINUTE)
    later = run(tmp_path, start_at="now").state
    assert (later.windows, later.late_files) == (2, 0)
    assert told(tmp_path) == all_of(minutes(4)[2:])
    other = tmp_path / "other"
    other.mkdir()
    (other / "in").symlink_to(tmp_path / "in")
    assert run(other, start_at="2026-09-21T14:17:00Z").state.windows == 1


def test_a15_two_at_once_are_one_too_many(tmp_path: Path) -> None:
    write(tmp_path / "in", *minutes(1))
    with locked(places(tmp_path), "minutes"):
        with started(tmp_path, START + 100 * MINUTE) as second:
            _, said = second.communicate(timeout=60)
        assert second.returncode != 0
        assert LockedError.__name__ in said
    assert results(tmp_path) == {}


def test_a36_numbers_of_every_window(tmp_path: Path) -> None:
    write(tmp_path / "in", *minutes(3))
    last = run(tmp_path).state.last
    assert last is not None
    first = last.windows[0]
    assert (first.logs, first.rows, first.selected, len(first.files)) == (2, 2, 2, 1)
    assert first.bytes == len(next(iter(results(tmp_path).values())))
    assert set(last.digests) == {"query", "config", "seed"}
    (file,) = (tmp_path / "in" / "logs").rglob("*.parquet")
    write(tmp_path / "in", *minutes(1))
    file.write_bytes(file.read_bytes()[:-9])
    (tmp_path / "state" / "files.json").unlink()
    with pytest.raises(DataError, match="not a whole Parquet file") as failure:
        run(tmp_path)
    assert file.name in str(failure.value)


def test_upstream_files_may_have_to_be_certain(tmp_path: Path) -> None:
    from otaptables import tables_of

    exporter = Exporter(tmp_path / "in", "core-0")
    exporter.export(tables_of(simple("shop", ["a"], attributes=False)))
    exporter.flush()
    with pytest.raises(DataError, match="no resource that is certain"):
        run(tmp_path, strict=True)
    assert run(tmp_path).state.unresolved == 1


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
    done = CliRunner().invoke(cli, ["window", "run", "--until", until, "--output", "json", *home])
    assert done.exit_code == 0, (done.output, done.exception)
    assert [row["selected"] for row in json.loads(done.stdout)["windows"]] == [2, 2, 2]
    assert all("sampling.adjusted_count" in body.decode() for body in results(tmp_path).values())
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

    monkeypatch.setattr("tailrace.cli.window_runs.time.sleep", sleep)
    done = CliRunner().invoke(cli, ["window", "run", "--output", "json", "--home", str(tmp_path)])
    assert slept == [7.0, 7.0]
    first, second = (json.loads(text) for text in done.stdout.replace("}\n{", "}\0{").split("\0"))
    assert [row["late"] for row in (*first["windows"], *second["windows"])] == [0, 1]
