"""The same log in another format: presets of tables that can be written in several."""

from __future__ import annotations

import csv
import json
from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from world import World

GOLDEN = Path(__file__).parents[1] / "golden"


def read(world: World, table: str, path: Path, preset: str, *columns: str) -> list[tuple[Any, ...]]:
    report = world.collect_one(table, str(path), format=f"format.{table}.{preset}")
    assert report.clean
    return world.query(f"select {', '.join(columns)} from {table} order by tp_id")


def lines(path: Path, *records: dict[str, Any]) -> Path:
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


def test_postgres_json_log(world: World, tmp_path: Path) -> None:
    record = {
        "timestamp": "2024-07-05 12:00:00.250 CEST", "user": "shop", "dbname": "orders", "pid": 4711,
        "remote_host": "192.0.2.7", "remote_port": 50112, "session_id": "6687a1.1267", "line_num": 3, "ps": "SELECT",
        "session_start": "2024-07-05 11:59:00 CEST", "vxid": "3/12", "txid": 0, "error_severity": "ERROR",
        "state_code": "42P01", "message": 'relation "order" does not exist', "hint": "none",
        "statement": "select * from order", "cursor_position": 15, "func_name": "parserOpenTable",
        "file_name": "parse_relation.c", "file_line_num": 1392, "application_name": "psql",
        "backend_type": "client backend", "query_id": 0,
    }  # fmt: skip
    slow = {"timestamp": "2024-07-05 10:00:01 UTC", "pid": 1, "error_severity": "LOG",
            "message": "duration: 12.5 ms  statement: select 1", "user": "a", "remote_host": "[local]"}  # fmt: skip
    found = read(
        world, "postgres_log", lines(tmp_path / "pg.json", record, slow), "json",
        "log_time", "user_name", "database_name", "process_id", "connection_from", "session_line_num", "command_tag",
        "session_start_time", "sql_state_code", "query", "query_pos", "location", "duration_ms", "statement", "tp_ips",
    )  # fmt: skip
    assert found == [
        (datetime(2024, 7, 5, 10, 0, 0, 250_000), "shop", "orders", 4711, "192.0.2.7:50112", 3, "SELECT",
         datetime(2024, 7, 5, 9, 59), "42P01", "select * from order", 15, "parserOpenTable, parse_relation.c:1392",
         None, None, ["192.0.2.7"]),
        (datetime(2024, 7, 5, 10, 0, 1), "a", None, 1, "[local]", None, None, None, None, None, None, None, 12.5,
         "select 1", None),
    ]  # fmt: skip


CLOUD_SQL = (
    {
        "textPayload": "2024-07-05 10:00:00.061 UTC [4711]: [2-1] db=orders,user=shop LOG:  duration: 11.5 ms"
        '  statement: select "a"\n from x',
        "resource": {"type": "cloudsql_database"}, "timestamp": "2024-07-05T10:00:00.062622Z", "severity": "INFO",
    },
    {"textPayload": "[4712]: [70-1] db=orders,user=zoe ERROR:  no such table", "timestamp": "2024-07-05T10:00:01.5Z"},
)  # fmt: skip


@pytest.mark.parametrize("indent", [None, 2])
def test_postgres_log_of_cloud_sql(indent: int | None, world: World, tmp_path: Path) -> None:
    """As a sink writes it, a line each, and as the console exports it; no format is named."""
    whole = json.dumps(CLOUD_SQL, indent=indent)
    text = whole if indent else "".join(json.dumps(record) + "\n" for record in CLOUD_SQL)
    (tmp_path / "pg.json").write_text(text)
    assert world.collect_one("postgres_log", str(tmp_path / "pg.json")).clean
    columns = "log_time, user_name, database_name, session_line_num, error_severity, message, duration_ms, statement"
    assert world.query(f"select {columns}, tp_extra ->> 'severity' from postgres_log order by tp_id") == [
        (datetime(2024, 7, 5, 10, 0, 0, 61_000), "shop", "orders", 2, "LOG",
         'duration: 11.5 ms  statement: select "a"\n from x', 11.5, 'select "a"\n from x', "INFO"),
        (datetime(2024, 7, 5, 10, 0, 1, 500_000), "zoe", "orders", 70, "ERROR", "no such table", None, None, None),
    ]  # fmt: skip


def test_postgres_log_of_cloud_native(world: World, tmp_path: Path) -> None:
    record = {"log_time": "2024-07-05 10:00:00.123 UTC", "user_name": "app", "process_id": "39",
              "error_severity": "ERROR", "sql_state_code": "42P01", "query": "select x", "query_pos": "15"}  # fmt: skip
    path = lines(tmp_path / "pg.json", {"level": "info", "msg": "record", "logging_pod": "db-1", "record": record})
    assert world.collect_one("postgres_log", str(path)).clean
    columns = "log_time, user_name, process_id, sql_state_code, query, query_pos"
    assert world.query(f"select {columns}, tp_extra ->> '$.tp_envelope.logging_pod' from postgres_log") == [
        (datetime(2024, 7, 5, 10, 0, 0, 123_000), "app", 39, "42P01", "select x", 15, "db-1"),
    ]


def test_traefik_json_log(world: World, tmp_path: Path) -> None:
    record = {
        "ClientHost": "192.0.2.7", "ClientUsername": "-", "RequestMethod": "GET", "RequestPath": "/a?b=1",
        "RequestProtocol": "HTTP/2.0", "DownstreamStatus": 200, "DownstreamContentSize": 12, "Duration": 2_500_000,
        "RouterName": "shop@docker", "ServiceURL": "http://10.0.0.3:80", "StartUTC": "2024-07-05T10:00:00.123456789Z",
        "RequestCount": 7, "request_User-Agent": "curl", "level": "info",
    }  # fmt: skip
    found = read(
        world, "traefik_access_log", lines(tmp_path / "t.json", record), "json",
        "timestamp", "client_user", "status", "size", "duration_ms", "user_agent", "tp_extra ->> 'level'",
    )  # fmt: skip
    assert found == [(datetime(2024, 7, 5, 10, 0, 0, 123456), None, 200, 12, 2.5, "curl", "info")]


def test_traefik_json_log_of_other_versions(world: World, tmp_path: Path) -> None:
    url = {"Scheme": "http", "Opaque": "", "User": None, "Host": "10.0.0.3:80", "Path": "", "RawQuery": ""}
    record = {
        "ClientAddr": "[2001:db8::7]:4711", "RequestMethod": "GET", "RequestPath": "/", "DownstreamStatus": 502,
        "StartLocal": "2024-07-05T12:00:00.5+02:00", "ServiceURL": url, "ServiceName": "shop@docker",
        "OriginStatus": 502, "OriginDuration": 1_500_000, "Overhead": 250_000, "RetryAttempts": 1,
        "RequestHost": "shop.example",
        "RequestPort": "-", "entryPointName": "web", "time": "2024-07-05T10:00:01Z",
    }  # fmt: skip
    found = read(
        world, "traefik_access_log", lines(tmp_path / "t.json", record), "json",
        "timestamp", "client_host", "service_url", "service_name", "origin_status", "origin_duration_ms", "overhead_ms",
        "retry_attempts", "request_host", "request_port", "entry_point_name", "tp_domains",
    )  # fmt: skip
    assert found == [
        (
            datetime(2024, 7, 5, 10, 0, 0, 500_000), "2001:db8::7", "http://10.0.0.3:80", "shop@docker", 502, 1.5, 0.25,
            1, "shop.example", None, "web", ["shop.example"],
        )
    ]  # fmt: skip


VIEWED = {
    "date": "2024-07-05", "time": "10:00:00", "x_edge_location": "FRA56-P1", "sc_bytes": "512", "c_ip": "192.0.2.7",
    "cs_method": "GET", "cs_Host": "d111.cloudfront.net", "cs_uri_stem": "/a", "sc_status": "200", "cs_Referer": "-",
    "cs_User_Agent": "curl/8", "x_edge_result_type": "Hit", "time_taken": "0.002", "DistributionId": "E1",
    "asn": "64500",
}  # fmt: skip
VIEWED_AS = (
    "timestamp", "x_edge_location", "sc_bytes", "cs_host", "sc_status", "cs_referer", "cs_user_agent", "time_taken",
    "distribution_id", "asn",
)  # fmt: skip
VIEW = (
    datetime(2024, 7, 5, 10), "FRA56-P1", 512, "d111.cloudfront.net", 200, None, "curl/8", 0.002, "E1", 64500,
)  # fmt: skip


def test_cloudfront_parquet(world: World, tmp_path: Path) -> None:
    pq.write_table(pa.Table.from_pylist([VIEWED]), tmp_path / "c.parquet")
    assert read(world, "aws_cloudfront_access_log", tmp_path / "c.parquet", "parquet", *VIEWED_AS) == [VIEW]


def test_cloudfront_json(world: World, tmp_path: Path) -> None:
    heads = {"cs_Host": "cs(Host)", "cs_Referer": "cs(Referer)", "cs_User_Agent": "cs(User-Agent)"}
    record = {heads.get(name, name.replace("_", "-")): value for name, value in VIEWED.items()}
    assert read(world, "aws_cloudfront_access_log", lines(tmp_path / "c.json", record), "json", *VIEWED_AS) == [VIEW]


@pytest.mark.parametrize("table", ["azure_cost_and_usage_actual", "azure_cost_and_usage_focus"])
def test_azure_costs_in_parquet_are_those_of_csv(table: str, world: World, tmp_path: Path) -> None:
    text = (GOLDEN / table / "in.csv").read_text().splitlines(keepends=True)
    (tmp_path / "cost.csv").write_text("".join(text[:3]))
    records = list(csv.DictReader(text[:3]))
    values = [{name: value or None for name, value in record.items()} for record in records]
    pq.write_table(pa.Table.from_pylist(values), tmp_path / "cost.parquet")
    select = f"select columns(lambda c: not starts_with(c, 'tp_') or c = 'tp_akas') from {table} order by tp_id"
    assert world.collect_one(table, str(tmp_path / "cost.csv")).clean
    expected = world.query(select)
    other = World(tmp_path / "other")
    assert other.collect_one(table, str(tmp_path / "cost.parquet"), format=f"format.{table}.parquet").clean
    assert other.query(select) == expected
    assert len(expected) == 2


@pytest.mark.parametrize(
    "text",
    [
        "SubscriptionId,ResourceGroup,Date,Quantity,CostInBillingCurrency,ResourceId,Tags,BillingCurrencyCode\n"
        's-1,rg1,07/05/2024,2.5,0.25,/r,"""env"": ""prod""",EUR\n',
        "SubscriptionGuid,ResourceGroup,UsageDateTime,UsageQuantity,PreTaxCost,InstanceId,Tags,Currency\n"
        's-1,rg1,2024-07-05,2.5,0.25,/r,"{""env"": ""prod""}",EUR\n',
    ],
)
def test_azure_costs_with_the_names_of_other_exports(text: str, world: World, tmp_path: Path) -> None:
    (tmp_path / "cost.csv").write_text(text)
    assert world.collect_one("azure_cost_and_usage_actual", str(tmp_path / "cost.csv")).clean
    columns = "subscription_id, resource_group_name, date, quantity, cost_in_billing_currency, resource_id"
    found = world.query(f"select {columns}, tags ->> 'env', billing_currency from azure_cost_and_usage_actual")
    assert found == [("s-1", "rg1", datetime(2024, 7, 5), 2.5, 0.25, "/r", "prod", "EUR")]


@pytest.mark.parametrize(
    "text",
    [
        '{"Events":[{"EventId":"1","CloudTrailEvent":"{\\"eventTime\\":\\"2024-07-05T10:00:00Z\\"}"}]}',
        '{"events":[{"timestamp":1,"message":"{\\"eventTime\\":\\"2024-07-05T10:00:00Z\\"}"}],"nextToken":"x"}',
    ],
)
def test_trails_as_commands_answer(text: str, world: World, tmp_path: Path) -> None:
    (tmp_path / "trail.json").write_text(text)
    assert world.collect_one("aws_cloudtrail_log", str(tmp_path / "trail.json")).clean
    assert world.query("select event_time from aws_cloudtrail_log") == [(datetime(2024, 7, 5, 10),)]


AUDITED = {"CreationTime": "2024-07-05T10:00:00", "Id": "1", "Operation": "FileDownloaded", "UserId": "a@example.com"}


@pytest.mark.parametrize("before", ["", "#TYPE Deserialized.Example.AuditData\r\n"])
def test_microsoft_audit_as_its_pages_export_it(before: str, world: World, tmp_path: Path) -> None:
    """A column of the table holds the record; a value may be longer than readers of such tables take."""
    long = {**AUDITED, "Id": "2", "Comment": "first line\n" + "x" * 200_000}
    with (tmp_path / "audit.csv").open("w", newline="") as file:
        file.write(before)
        table = csv.writer(file)
        table.writerow(["RecordId", "CreationDate", "RecordType", "AuditData"])
        table.writerows(
            [[n, "2024-07-05", "6", json.dumps(record, indent=n)] for n, record in enumerate((AUDITED, long))]
        )
        table.writerow(["3", "too short"])
    report = world.collect_one("m365_audit_log", str(tmp_path / "audit.csv"))
    assert (report.counts.stored, report.counts.quarantined) == (2, 1)
    columns = "creation_time, id, operation, user_id, tp_extra ->> '$.tp_envelope.RecordId'"
    assert world.query(f"select {columns} from m365_audit_log order by tp_id") == [
        (datetime(2024, 7, 5, 10), "1", "FileDownloaded", "a@example.com", "0"),
        (datetime(2024, 7, 5, 10), "2", "FileDownloaded", "a@example.com", "1"),
    ]


def test_traefik_without_the_time_of_the_request(world: World, tmp_path: Path) -> None:
    record = {"ClientHost": "192.0.2.7", "DownstreamStatus": 200, "time": "2024-07-05T12:00:00+02:00"}
    assert read(
        world, "traefik_access_log", lines(tmp_path / "t.json", record), "json", "timestamp", "tp_timestamp"
    ) == [(None, datetime(2024, 7, 5, 10))]


def test_nginx_access_log_in_json(world: World, tmp_path: Path) -> None:
    """No format is named; what is no variable of nginx stays beside the columns."""
    record = {
        "time_iso8601": "2024-07-05T12:00:00+02:00", "remote_addr": "192.0.2.7", "request_method": "GET",
        "request_uri": "/a", "status": "200", "body_bytes_sent": "12", "request_time": "0.5", "trace": "x",
    }  # fmt: skip
    assert world.collect_one("nginx_access_log", str(lines(tmp_path / "access.log", record))).clean
    columns = "tp_timestamp, remote_addr, request_method, request_uri, status, request_time, tp_extra ->> 'trace'"
    assert world.query(f"select {columns} from nginx_access_log") == [
        (datetime(2024, 7, 5, 10), "192.0.2.7", "GET", "/a", 200, 0.5, "x")
    ]


def test_mysql_error_log_in_json(world: World, tmp_path: Path) -> None:
    record = {"prio": 2, "err_code": 10926, "subsystem": "Server", "thread": 9, "label": "Warning",
              "msg": "Access denied for user 'bob'@'192.0.2.10'", "time": "2024-07-05T10:00:00.5Z"}  # fmt: skip
    assert world.collect_one("mysql_error_log", str(lines(tmp_path / "error.json", record))).clean
    columns = "timestamp, thread_id, level, error_code, subsystem, user_name, client"
    assert world.query(f"select {columns} from mysql_error_log") == [
        (datetime(2024, 7, 5, 10, 0, 0, 500_000), 9, "Warning", "MY-010926", "Server", "bob", "192.0.2.10")
    ]
