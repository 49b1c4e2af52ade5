"""Mistakes that are known of Tailpipe's parsers, one test each, named after what goes wrong there."""

from __future__ import annotations

import gzip
import json
import re
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from logfiles import write
from world import World

from tailrace.pipeline.job import Counts

PAGE = Path(__file__).parents[2] / "docs/tables/nginx_access_log.md"
TIMED = (
    'format "nginx_access_log" "f" {\n layout = `$remote_addr [$time_local] "$request" $status $body_bytes_sent'
    " $upstream_status $upstream_addr`\n}\n"
)
NGINX = '192.0.2.7 [01/May/2024:10:00:00 +0000] "GET / HTTP/1.1" 200 {size} {upstream}\n'


def counts(world: World, table: str, path: Path) -> Counts:
    return world.collect_one(table, str(path)).counts


def jsonl(path: Path, *records: Any) -> Path:
    return write(path, "".join(json.dumps(record) + "\n" for record in records))


def test_one_value_that_does_not_fit_loses_the_batch(world: World, tmp_path: Path) -> None:
    """… and the rows are not even counted."""
    lines = [
        NGINX.format(size=5, upstream="200 10.0.0.1:80"),
        NGINX.format(size=2**31, upstream="502, 200 10.0.0.1:80, 10.0.0.2:80"),
        NGINX.format(size="much", upstream="- -"),
    ]
    write(tmp_path / "a.log", "".join(lines))
    world.write_config(
        f'{TIMED}partition "nginx_access_log" "p" {{\n source "file" {{\n paths = ["{tmp_path}/a.log"]\n'
        " format = format.nginx_access_log.f\n}\n}"
    )
    (report,) = world.collect()
    assert (report.counts.received, report.counts.stored, report.counts.flagged) == (3, 3, 2)
    assert world.query(
        "select body_bytes_sent, upstream_status, upstream_addr, tp_extra ->> '$.tp_misfit.body_bytes_sent', "
        "tp_extra ->> '$.tp_misfit.upstream_status' from nginx_access_log order by tp_id"
    ) == [
        (5, 200, "10.0.0.1:80", None, None),
        (None, None, "10.0.0.1:80, 10.0.0.2:80", str(2**31), "502, 200"),
        (None, None, None, "much", None),
    ]


def test_a_list_of_several_servers_loses_the_batch(world: World, tmp_path: Path) -> None:
    """The lists are kept as written; the table's page tells where, and how to ask for them."""
    line = '192.0.2.7 - - [01/May/2024:10:00:00 +0000] "GET / HTTP/1.1" 200 5 "-" "x" 9 0.150 [n] [] {} {} {} {} id\n'
    several = line.format("10.0.0.1:80, 10.0.0.2:80 : 10.0.0.3:80", "0, 0 : 7", "0.010, - : 0.020", "502, 504 : 200")
    write(tmp_path / "a.log", line.format("10.0.0.1:80", 7, "0.010", 200) + several)
    found = counts(world, "nginx_access_log", tmp_path / "a.log")
    assert (found.stored, found.flagged) == (2, 1)
    (query,) = re.findall(r"```sql empty\n(select [^`]*tp_misfit[^`]*)```", PAGE.read_text())
    ((_, addresses, statuses, times),) = world.query(query)
    assert (addresses, statuses) == ("10.0.0.1:80, 10.0.0.2:80 : 10.0.0.3:80", "502, 504 : 200")
    assert times == [pytest.approx(0.01), None, pytest.approx(0.02)]
    assert world.query("select tp_extra ->> 'upstream_response_length' from nginx_access_log order by tp_id") == [
        ("7",), ("0, 0 : 7",)
    ]  # fmt: skip


@pytest.mark.parametrize("name", ["a.log", "a.log.gz"])
def test_a_line_over_64_kb_ends_the_file(name: str, world: World, tmp_path: Path) -> None:
    line = '192.0.2.7 - - [01/May/2024:10:00:00 +0000] "GET /{} HTTP/1.1" 200 5 "-" "x"\n'
    write(tmp_path / name, line.format("a") + line.format("b" * 200_000) + line.format("c"))
    assert counts(world, "apache_access_log", tmp_path / name).stored == 3
    assert world.query("select length(request_uri) from apache_access_log order by tp_id") == [(2,), (200_001,), (2,)]


def test_names_of_waf_labels_are_always_null(world: World, tmp_path: Path) -> None:
    record = {"timestamp": 1714557600000, "webaclId": "w", "labels": [{"name": "awswaf:bot"}, {"name": "b"}]}
    counts(world, "aws_waf_traffic_log", jsonl(tmp_path / "a.log", record | {"httpRequest": {"clientIp": "192.0.2.7"}}))
    found = world.query("select labels ->> '$[*].name', tp_source_ip from aws_waf_traffic_log")
    assert found == [(["awswaf:bot", "b"], "192.0.2.7")]


def test_unknown_fields_are_dropped(world: World, tmp_path: Path) -> None:
    record = {"eventTime": "2024-05-01T10:00:00Z", "eventName": "E", "brandNew": {"a": [1]},
              "userIdentity": {"type": "Root", "inScopeOf": {"x": 1}}}  # fmt: skip
    counts(world, "aws_cloudtrail_log", jsonl(tmp_path / "a.json", {"Records": [record]}))
    ((extra,),) = world.query("select tp_extra from aws_cloudtrail_log")
    assert json.loads(extra) == {"brandNew": {"a": [1]}, "userIdentity": {"inScopeOf": {"x": 1}}}


LACKING: dict[str, Any] = {
    "aws_cloudtrail_log": {"eventName": "E", "eventID": "1"},
    "aws_waf_traffic_log": {"webaclId": "w"},
    "aws_guardduty_finding": {"id": "1", "title": "no arn, no resource"},
    "azure_activity_log": {"operationName": "O"},
    "github_audit_log": {"action": "repo.create"},
}


@pytest.mark.parametrize("table", LACKING)
def test_a_record_without_its_time_or_arn_ends_the_collection(table: str, world: World, tmp_path: Path) -> None:
    found = counts(world, table, jsonl(tmp_path / "a.json", LACKING[table]))
    assert (found.received, found.stored, found.quarantined) == (1, 0, 1)
    ((raw,),) = world.query("select decode(raw) from tp_quarantine")
    assert json.loads(raw) == LACKING[table]


def test_a_recommendation_without_its_time_ends_the_collection(world: World, tmp_path: Path) -> None:
    text = "account_id,last_refresh_timestamp,region\n1,,eu-west-1\n2,2024-06-10T06:13:20.000Z,eu-west-1\n"
    found = counts(world, "aws_cost_optimization_recommendation", write(tmp_path / "a.csv", text))
    assert (found.stored, found.quarantined) == (1, 1)


def test_an_event_without_identity_or_arn_ends_the_collection(world: World, tmp_path: Path) -> None:
    event = {"eventTime": "2024-05-01T10:00:00Z", "eventName": "E"}
    assert counts(world, "aws_cloudtrail_log", jsonl(tmp_path / "a.json", event)).stored == 1
    finding = {"id": "1", "createdAt": "2024-05-01T10:00:00Z"}
    assert counts(world, "aws_guardduty_finding", jsonl(tmp_path / "b.json", finding)).stored == 1


ALB = (
    'https 2024-06-10T06:13:20.186641Z app/shop/1 {client} {target} 0.001 0.048 0.000 200 200 312 5127 '
    '"GET https://shop.example.com:443/ HTTP/1.1" "{agent}" - - - "Root=1" "shop.example.com" "-" 10 '
    '2024-06-10T06:13:20.137000Z "forward" "-" "-"{more}\n'
)  # fmt: skip
LISTS = ' "10.0.0.11:8080" "200"'


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"client": "2001:db8::42:443"}, ("2001:db8::42", 443, "10.0.0.11", "curl", None)),
        ({"client": "[2001:db8::42]:443"}, ("2001:db8::42", 443, "10.0.0.11", "curl", None)),
        ({"target": "-"}, ("192.0.2.7", 2817, None, "curl", None)),
        ({"more": ""}, ("192.0.2.7", 2817, "10.0.0.11", "curl", None)),
        ({"more": LISTS}, ("192.0.2.7", 2817, "10.0.0.11", "curl", None)),
        ({"more": LISTS + ' "-" "-" TID_1'}, ("192.0.2.7", 2817, "10.0.0.11", "curl", "TID_1")),
        ({"more": LISTS + ' "-" "-" TID_1 "host" "uri" "done"'}, ("192.0.2.7", 2817, "10.0.0.11", "curl", "TID_1")),
        ({"agent": 'a "quoted" one'}, ("192.0.2.7", 2817, "10.0.0.11", 'a "quoted" one', None)),
    ],
    ids=["ipv6", "ipv6 in brackets", "no target", "first fields", "2018", "2024", "transformed", "quotes"],
)
def test_addresses_with_colons_other_numbers_of_fields_and_quotes_break_a_balancers_line(
    given: dict[str, str], expected: tuple[Any, ...], world: World, tmp_path: Path
) -> None:
    usual = {"client": "192.0.2.7:2817", "target": "10.0.0.11:8080", "agent": "curl", "more": LISTS + ' "-" "-"'}
    write(tmp_path / "a.log", ALB.format(**(usual | given)))
    assert counts(world, "aws_alb_access_log", tmp_path / "a.log").stored == 1
    found = world.query("select client_ip, client_port, target_ip, user_agent, conn_trace_id from aws_alb_access_log")
    assert found == [expected]


def test_audit_entries_on_lines_fail_and_their_addresses_are_exchanged(world: World, tmp_path: Path) -> None:
    entry = {"timestamp": "2024-05-01T10:00:00Z", "httpRequest": {"remoteIp": "192.0.2.7", "serverIp": "10.0.0.1"},
             "protoPayload": {"requestMetadata": {"callerIp": "192.0.2.7"}}}  # fmt: skip
    assert counts(world, "gcp_audit_log", jsonl(tmp_path / "a.json", entry, entry)).stored == 2
    found = world.query("select distinct tp_source_ip, tp_destination_ip from gcp_audit_log")
    assert found == [("192.0.2.7", "10.0.0.1")]


def test_activities_lose_properties_that_are_no_text_and_have_their_operation_as_id(
    world: World, tmp_path: Path
) -> None:
    record = {"time": "2024-05-01T10:00:00Z", "operationName": "O", "eventDataId": "d-1",
              "identity": {"claims": {"amr": ["pwd", "mfa"]}}, "properties": {"n": 7, "deep": {"a": True}}}  # fmt: skip
    assert counts(world, "azure_activity_log", jsonl(tmp_path / "PT1H.json", {"records": [record]})).stored == 1
    (row,) = world.query("select operation_name, event_data_id, properties, claims from azure_activity_log")
    assert (row[0], row[1], json.loads(row[2]), json.loads(row[3])) == (
        "O", "d-1", record["properties"], {"amr": ["pwd", "mfa"]}
    )  # fmt: skip


def test_a_quoted_line_end_or_comma_breaks_a_cost_report(world: World, tmp_path: Path) -> None:
    text = (
        '"identity/LineItemId","lineItem/UsageStartDate","lineItem/LineItemDescription","resourceTags/user:a,b"\n'
        '1,2024-05-01T00:00:00Z,"two\nlines, and ""quotes""",x\n'
        "2,2024-05-01T01:00:00Z,plain,\n"
    )
    path = tmp_path / "report.csv.gz"
    path.write_bytes(gzip.compress(text.encode()))
    assert counts(world, "aws_cost_and_usage_report", path).stored == 2
    found = world.query(
        "select identity_line_item_id, line_item_line_item_description, resource_tags::varchar "
        "from aws_cost_and_usage_report order by 1"
    )
    assert [row[:2] for row in found] == [("1", 'two\nlines, and "quotes"'), ("2", "plain")]
    assert list(json.loads(found[0][2]).values()) == ["x"]


def test_all_reports_of_a_finding_have_the_time_of_the_first(world: World, tmp_path: Path) -> None:
    first = {"id": "1", "arn": "arn:a", "createdAt": "2024-05-01T10:00:00Z", "updatedAt": "2024-05-01T10:00:00Z"}
    again = first | {"updatedAt": "2024-05-09T10:00:00Z"}
    counts(world, "aws_guardduty_finding", jsonl(tmp_path / "a.jsonl", first, again))
    found = world.query("select tp_timestamp, created_at from aws_guardduty_finding order by 1")
    created = datetime(2024, 5, 1, 10)
    assert found == [(created, created), (datetime(2024, 5, 9, 10), created)]


def test_comment_lines_and_a_day_apart_from_its_time_cannot_be_read(world: World, tmp_path: Path) -> None:
    text = "#Version: 1.0\n#Fields: date time status\n2024-05-01\t10:00:00\t200\n#more\n2024-05-01\t11:00:00\t404\n"
    write(tmp_path / "a.log", text)
    world.write_config(
        f"""
        format "delimited" "tabs" {{
          delimiter = "\\t"
          header    = false
          comment   = "#"
          fields    = ["date", "time", "status"]
        }}
        table "edge" {{
          format     = format.delimited.tabs
          map_fields = ["status"]
          column "tp_timestamp" {{ transform = "date || ' ' || time" }}
        }}
        partition "edge" "p" {{ source "file" {{ paths = ["{tmp_path}/a.log"] }} }}
        """
    )
    (report,) = world.collect()
    assert (report.counts.stored, report.counts.quarantined) == (2, 0)
    assert world.query("select tp_timestamp, status from edge order by 1") == [
        (datetime(2024, 5, 1, 10), 200), (datetime(2024, 5, 1, 11), 404)
    ]  # fmt: skip


def test_one_format_does_not_take_requests_that_are_none(world: World, tmp_path: Path) -> None:
    line = '192.0.2.7 - - [01/May/2024:10:00:00 +0000] "{}" 400 5 "-" "x"\n'
    write(tmp_path / "a.log", line.format("") + line.format("-") + line.format(r"\x16\x03\x01"))
    assert counts(world, "nginx_access_log", tmp_path / "a.log").stored == 3
