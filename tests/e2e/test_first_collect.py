"""One collect of everything that can be configured, and what can be asked afterwards."""

from __future__ import annotations

import csv
import io
import json
from datetime import timedelta
from pathlib import Path

import pytest
from commandline import Home
from logfiles import CLOUDTRAIL_LAYOUT, VPC_LAYOUT, access_lines, cloudtrail, today, vpc_flow, write

DAYS = [today() - timedelta(days=n) for n in (1, 2, 3)]
CONFIG = """
partition "aws_cloudtrail_log" "trail" {
  tp_index = "recipient_account_id"
  source "file" {
    paths       = ["{logs}/aws"]
    file_layout = `{cloudtrail}`
  }
}
partition "aws_vpc_flow_log" "net" {
  filter = "action = 'REJECT'"
  source "file" {
    paths       = ["{logs}/aws"]
    file_layout = `{vpc}`
  }
}
partition "nginx_access_log" "web-1" {
  source "file" { paths = ["{logs}/web/nginx-*.log"] }
}
partition "apache_access_log" "web 2" {
  source "file" { paths = ["{logs}/web/apache.log.gz"] }
}

table "orders" {
  format  = format.delimited.semicolons
  null_if = "-"
  column "tp_timestamp" { source = "at" }
  column "number" {
    type     = "bigint"
    required = true
  }
  column "amount" { type = "decimal(10,2)" }
  column "shop" { null_if = "none" }
  column "size" { transform = "case when amount::double >= 100 then 'large' else 'small' end" }
}
format "delimited" "semicolons" {
  delimiter = ";"
  header    = true
}
partition "orders" "all" {
  source "file" { paths = ["{logs}/orders.csv"] }
}

table "app" {
  format     = "jsonl"
  map_fields = ["k*"]
  column "tp_timestamp" { source = "ts" }
  column "level" {}
}
partition "app" "all" {
  source "file" { paths = ["{logs}/app.jsonl"] }
}

table "daemons" {
  format = format.grok.syslog
  column "time" { type = "timestamp" }
  column "pid" { type = "int" }
}
format "grok" "syslog" {
  layout = `%{TIMESTAMP_ISO8601:time} %{HOSTNAME:host} %{WORD:program}\\[%{POSINT:pid}\\]: %{GREEDYDATA:message}`
}
partition "daemons" "all" {
  source "file" { paths = ["{logs}/syslog"] }
}

table "marks" {
  format = format.regex.marks
  column "ts" {
    type = "timestamp"
    time = "epoch_s"
  }
  column "grade" { type = "double" }
}
format "regex" "marks" {
  layout = `^(?P<ts>\\d+) (?P<name>\\w+)=(?P<grade>\\S+)$`
}
partition "marks" "all" {
  source "file" { paths = ["{logs}/marks"] }
}
"""


def write_logs(logs: Path) -> None:
    for day in DAYS:
        cloudtrail(logs / "aws", day, 30)
        cloudtrail(logs / "aws", day, 10, account="999988887777")
        vpc_flow(logs / "aws", day, 40)
    write(logs / "web" / "nginx-1.log", access_lines(DAYS[0], 50))
    write(logs / "web" / "nginx-2.log", access_lines(DAYS[1], 50) + "not a line of the log\n")
    write(logs / "web" / "apache.log.gz", access_lines(DAYS[0], 25))
    write(
        logs / "orders.csv",
        "at;number;amount;shop\n"
        "2024-05-01T10:00:00Z;1;99.50;north\n"
        "2024-05-01T11:00:00Z;2;100.00;none\n"
        "2024-05-02T12:00:00Z;;5;south\n"
        "2024-05-02T13:00:00Z;4;-;-\n",
    )
    events = [
        {"ts": "2024-05-01T00:00:00Z", "level": "info", "kind": "start", "count": 1},
        {"ts": "2024-05-01T00:00:01Z", "level": "warn", "kind": "stop", "kept": 2.5},
    ]
    write(logs / "app.jsonl", "".join(json.dumps(e) + "\n" for e in events))
    write(
        logs / "syslog",
        "2024-05-01T08:00:00Z web.example sshd[77]: Accepted publickey for root\n"
        "2024-05-01T08:00:01Z web.example cron[x]: not a number\n",
    )
    write(logs / "marks", "1714550400 alice=1.5\n1714550401 bob=bad\n")


@pytest.fixture(scope="module")
def collected(tmp_path_factory: pytest.TempPathFactory, class_archive: dict[str, str]) -> tuple[Home, dict]:
    """A home after its first collect, and what that reported."""
    root = tmp_path_factory.mktemp("first")
    write_logs(root / "logs")
    home = Home(root / "home", class_archive)
    names = {"{logs}": str(root / "logs"), "{cloudtrail}": CLOUDTRAIL_LAYOUT, "{vpc}": VPC_LAYOUT}
    text = CONFIG
    for name, value in names.items():
        text = text.replace(name, value)
    home.configure(text)
    done = home.run("collect", "--output", "json")
    assert done.code == 0, done.err
    assert done.err == "", "Spark's chatter has no place on the terminal"
    return home, {p["partition"]: p for p in done.json()["partitions"]}


def rows(summary: dict, partition: str) -> dict[str, int]:
    return {name: count for name, count in summary[partition]["rows"].items() if count}


def test_summary(collected):
    _, summary = collected
    assert rows(summary, "aws_cloudtrail_log.trail") == {"received": 120, "stored": 120}
    assert rows(summary, "aws_vpc_flow_log.net") == {"received": 120, "stored": 30, "filtered": 90}
    assert rows(summary, "nginx_access_log.web-1") == {"received": 101, "stored": 100, "quarantined": 1}
    assert rows(summary, "apache_access_log.web 2") == {"received": 25, "stored": 25}
    assert rows(summary, "orders.all") == {"received": 4, "stored": 3, "quarantined": 1}
    assert rows(summary, "app.all") == {"received": 2, "stored": 2}
    assert rows(summary, "daemons.all") == {"received": 2, "stored": 1, "quarantined": 1}
    assert rows(summary, "marks.all") == {"received": 2, "stored": 2, "flagged": 1}
    trail = summary["aws_cloudtrail_log.trail"]
    assert trail["artifacts"]["collected"] == trail["artifacts"]["discovered"] == 6
    assert (trail["files"], trail["days"]) == (6, 3)
    assert (trail["first_day"], trail["last_day"]) == (str(DAYS[2]), str(DAYS[0]))
    assert all(p["error"] is None and not p["troubles"] for p in summary.values())


def test_four_tables_in_one_question(collected):
    home, _ = collected
    tables = ("aws_cloudtrail_log", "aws_vpc_flow_log", "nginx_access_log", "apache_access_log")
    each = " union all ".join(
        f"select tp_table, tp_partition, count(*) as rows, count(distinct tp_id) as ids, "
        f"max(tp_date)::varchar as last from {table} group by all"
        for table in tables
    )
    assert home.query(f"{each} order by all") == [
        {"tp_table": t, "tp_partition": p, "rows": n, "ids": n, "last": str(DAYS[0])}
        for t, p, n in (
            ("apache_access_log", "web 2", 25),
            ("aws_cloudtrail_log", "trail", 120),
            ("aws_vpc_flow_log", "net", 30),
            ("nginx_access_log", "web-1", 100),
        )
    ]


def test_values(collected):
    home, _ = collected
    (event,) = home.query(
        "select event_name, user_identity.user_name as who, request_parameters, tp_index, tp_ips, tp_usernames "
        f"from aws_cloudtrail_log where event_id = '{DAYS[1]}-a-29' and tp_index = '111122223333'"
    )
    assert event == {
        "event_name": "StopLogging",
        "who": "user1",
        "request_parameters": {"bucketName": "logs", "number": 29},
        "tp_index": "111122223333",
        "tp_ips": ["192.0.2.30"],
        "tp_usernames": ["user1"],
    }
    (page,) = home.query("select request_uri, status, tp_source_ip from nginx_access_log order by tp_timestamp limit 1")
    assert page == {"request_uri": "/page/0", "status": 500, "tp_source_ip": "192.0.2.1"}
    assert home.query("select distinct action from aws_vpc_flow_log") == [{"action": "REJECT"}]


def test_one_directory_per_index(collected):
    home, _ = collected
    root = home.path / "data" / "default" / "tp_table=aws_cloudtrail_log" / "tp_partition=trail"
    assert {p.name for p in root.iterdir()} == {"tp_index=111122223333", "tp_index=999988887777"}


def test_custom_tables(collected):
    home, _ = collected
    assert home.query("select number, amount, shop, size from orders order by number") == [
        {"number": 1, "amount": 99.5, "shop": "north", "size": "small"},
        {"number": 2, "amount": 100.0, "shop": None, "size": "large"},
        {"number": 4, "amount": None, "shop": None, "size": "small"},
    ]
    app = home.query("select level, kind, kept, tp_extra from app order by tp_timestamp")
    assert app == [
        {"level": "info", "kind": "start", "kept": None, "tp_extra": {"count": 1}},
        {"level": "warn", "kind": "stop", "kept": 2.5, "tp_extra": None},
    ]
    assert home.query("select pid, host, program, message, tp_timestamp from daemons") == [
        {
            "pid": 77,
            "host": "web.example",
            "program": "sshd",
            "message": "Accepted publickey for root",
            "tp_timestamp": "2024-05-01T08:00:00",
        }
    ]
    assert home.query("select name, grade, tp_extra from marks order by name") == [
        {"name": "alice", "grade": 1.5, "tp_extra": None},
        {"name": "bob", "grade": None, "tp_extra": {"tp_misfit": {"grade": "bad"}}},
    ]


def test_quarantine_holds_the_bytes(collected):
    home, _ = collected
    found = home.query('select "table", raw, reason from tp_quarantine order by "table"')
    assert [(q["table"], q["raw"]) for q in found] == [
        ("daemons", "2024-05-01T08:00:01Z web.example cron[x]: not a number"),
        ("nginx_access_log", "not a line of the log"),
        ("orders", "2024-05-02T12:00:00Z;;5;south"),
    ]
    assert "number" in found[2]["reason"]


@pytest.mark.parametrize("output", ["table", "json", "jsonl", "csv", "line"])
def test_forms_of_an_answer(collected, output, tmp_path):
    home, _ = collected
    sql = "select number, shop from orders where number < 3 order by number"
    file = write(tmp_path / "q.sql", sql)
    text = home.run("query", sql, "--output", output).out
    if output == "json":
        others = {
            home.run("query", str(file), "--output", output).out,
            home.run("query", "-", "--output", output, stdin=sql).out,
            home.run("query", "--output", output, stdin=sql).out,
        }
        assert others == {text}, "argument, file and standard input give the same"
    expected = [{"number": 1, "shop": "north"}, {"number": 2, "shop": None}]
    match output:
        case "json":
            assert json.loads(text) == expected
        case "jsonl":
            assert [json.loads(line) for line in text.splitlines()] == expected
        case "csv":
            assert list(csv.DictReader(io.StringIO(text))) == [
                {"number": "1", "shop": "north"},
                {"number": "2", "shop": ""},
            ]
        case "table":
            assert "│ number │ shop  │" in text
            assert text.endswith("2 rows\n")
        case "line":
            assert "number | 1\n" in text


def test_lists(collected):
    home, _ = collected
    tables = {t["name"]: t for t in home.run("table", "list", "--output", "json").json()}
    assert (tables["nginx_access_log"]["rows"], tables["orders"]["rows"]) == (100, 3)
    partitions = {p["name"]: p["rows"] for p in home.run("partition", "list", "--output", "json").json()}
    assert partitions["apache_access_log.web 2"] == 25
    shown = home.run("partition", "show", "aws_cloudtrail_log.trail", "--output", "json").json()
    assert (shown["rows"], shown["artifacts"]) == (120, 6)
    columns = home.run("table", "show", "orders", "--output", "json").json()["columns"]
    assert {c["name"]: c["type"] for c in columns}["amount"] == "decimal(10,2)"


def test_a_reader_that_leaves_early(collected):
    home, _ = collected
    sql = "select range, 'x' from range(2000000)"
    with home.start("query", sql, "--output", "csv") as process:
        assert process.stdout.readline() == "range,'x'\n"
        process.stdout.close()
        assert process.stderr.read() == ""
        assert process.wait(60) == 141
