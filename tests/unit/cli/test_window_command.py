"""`tailrace window import` and `window export`."""

from __future__ import annotations

import base64
import gzip
import json
import subprocess
import sys
from pathlib import Path

from click.testing import CliRunner, Result
from otaptables import simple, told_by_tables
from otlprequests import json_request, proto_of_json, proto_request, told_by_proto, told_by_request
from otlpwrite import span

from tailrace.cli.main import cli
from tailrace.core.errors import TailraceError


def window(*arguments: str | Path) -> Result:
    return CliRunner().invoke(cli, ["window", *map(str, arguments)])


def test_there_and_back_again(tmp_path: Path) -> None:
    shop, bank = simple("shop", ["a", "b"]), simple("bank", ["c"], attributes=False)
    (tmp_path / "a.pb.gz").write_bytes(gzip.compress(proto_request(shop)))
    (tmp_path / "b.jsonl").write_text(json_request(bank) + "\n")
    tables = tmp_path / "tables"
    done = window("import", tmp_path / "a.pb.gz", tmp_path / "b.jsonl", "--to", tables, "--output", "json")
    assert done.exit_code == 0, done.output
    (row,) = json.loads(done.stdout)
    assert (row["files"], row["logs"], row["refused"]) == (2, 3, 0)
    assert (tables / "logs" / f"_part_id={row['part_id']}").is_dir()
    expected = told_by_request(shop) + told_by_request(bank)
    for form, name in (("otlp_proto", "out.pb"), ("otlp_json", "out.jsonl"), ("otap_parquet", "out")):
        done = window("export", tables, "--as", form, "--out", tmp_path / "to" / name, "--output", "json")
        assert done.exit_code == 0, done.output
        assert json.loads(done.stdout)[0]["logs"] == 3
    assert told_by_proto((tmp_path / "to/out.pb").read_bytes()) == expected
    assert told_by_proto(proto_of_json((tmp_path / "to/out.jsonl").read_text())) == expected
    assert told_by_tables(tmp_path / "to/out") == expected


def test_what_is_in_no_table_is_kept_with_its_reason(tmp_path: Path) -> None:
    short = span(2, span(9, b"too short") + span(3, b"INFO"))
    message = span(1, span(2, short + span(2, span(3, b"WARN"))))
    (tmp_path / "a.pb").write_bytes(message)
    (tmp_path / "b.json").write_text('{"resourceLogs":[{"scopeLogs":[{"logRecords":[{"timeUnixNano":"soon"}]}]}]}')
    tables = tmp_path / "tables"
    done = window("import", tmp_path / "a.pb", tmp_path / "b.json", "--to", tables, "--max-errors", "1")
    assert isinstance(done.exception, TailraceError)
    assert done.exception.exit_code == 4
    assert "trace_id has 16 bytes" in done.stderr
    assert told_by_tables(tables).total() == 1
    (refused,) = (tables / "_refused").iterdir()
    first, second = map(json.loads, refused.read_text().splitlines())
    assert base64.b64decode(first["raw"]) == short[2:]
    assert second["file"].endswith("b.json")
    assert "timeUnixNano" in base64.b64decode(second["raw"]).decode()


def test_what_is_not_there(tmp_path: Path) -> None:
    done = window("import", tmp_path / "nothing", "--to", tmp_path / "tables")
    assert isinstance(done.exception, TailraceError)
    assert (done.exception.exit_code, done.exception.code) == (5, "source.io")
    assert not (tmp_path / "tables").exists()
    done = window("export", tmp_path / "nothing", "--out", tmp_path / "out.pb")
    assert isinstance(done.exception, TailraceError)
    assert done.exception.exit_code == 2


def test_an_import_of_nothing_is_no_success(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text("garbage")
    done = window("import", tmp_path / "a.json", "--to", tmp_path / "tables", "--output", "json")
    assert isinstance(done.exception, TailraceError)
    assert done.exception.exit_code == 4
    (row,) = json.loads(done.stdout)
    assert (row["part_id"], row["logs"], row["refused"]) == (None, 0, 1)
    allowed = window("import", tmp_path / "a.json", "--to", tmp_path / "tables", "--max-errors", "1")
    assert allowed.exit_code == 0


def test_answers_look_as_those_of_query(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(json_request(simple("shop", ["a", "b"])))
    tables = tmp_path / "tables"
    assert window("import", tmp_path / "a.json", "--to", tables).exit_code == 0
    done = window("query", tables, "select count(*), 1234567 as n, '\\xFF'::blob as b from logs")
    assert done.stdout.splitlines()[1:] == [
        "│ count_star() │ n       │ b    │",
        "├──────────────┼─────────┼──────┤",
        "│            2 │ 1234567 │ \\xFF │",
        "└──────────────┴─────────┴──────┘",
        "1 row",
    ]
    assert json.loads(window("query", tables, "select 1 as a where false", "--output", "json").stdout) == []


def test_mistakes_are_told_as_by_query(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(json_request(simple("shop", ["a", "b"])))
    tables = tmp_path / "tables"
    assert window("import", tmp_path / "a.json", "--to", tables).exit_code == 0
    for sql, told, hint in (
        ("select from where", "\nLINE 1: select from where\n", "one SELECT"),
        ("select sevrity from logs", '\nCandidate bindings: "severity_text"', None),
        ("from logz", "Table with name logz does not exist!", "tables: logs,"),
    ):
        failure = window("query", tables, sql).exception
        assert isinstance(failure, TailraceError)
        assert told in failure.message
        assert "Did you mean" not in failure.message
        assert (failure.hint or "").find(hint or "") >= 0 if hint else failure.hint is None


def test_status_without_windows(tmp_path: Path) -> None:
    done = CliRunner().invoke(cli, ["--home", str(tmp_path), "window", "status", "--output", "json"])
    assert (done.exit_code, json.loads(done.stdout)) == (0, [])


def test_the_sampling_example_samples(tmp_path: Path) -> None:
    """The query of docs/config/window.md."""
    (tmp_path / "a.json").write_text(json_request(simple("shop", ["a", "b", "c"])))
    tables = tmp_path / "tables"
    assert window("import", tmp_path / "a.json", "--to", tables).exit_code == 0
    page = (Path(__file__).parents[3] / "docs/config/window.md").read_text()
    sql = page.split('window "sampled"')[1].split("<<-SQL")[1].split("  SQL\n")[0]
    done = window("query", tables, sql, "--sample-size", "2", "--output", "json")
    assert done.exit_code == 0, done.output
    assert len({row["parent_id"] for row in json.loads(done.stdout)}) == 2


def test_nothing_is_said_of_copies() -> None:
    """What DuckDB remarks on Arrow is not for whoever runs windows."""
    program = "import duckdb, tailrace.windows.engine as e; e.rows_of(duckdb.connect(), f'select 1 as {e.PREFIX}x')"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stderr == ""
