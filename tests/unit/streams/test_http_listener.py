"""HTTP: what is answered, what is kept, and what is refused before it can do harm."""

from __future__ import annotations

import asyncio
import gzip
import json
import socket
from typing import ClassVar

import flatwrite as fw
import pytest
from liveserver import AUTH, DEVICE, EVENT, KEY, OTHER, serving
from rawhttp import answers, request

from tailrace.streams.http_server import JoinedWrites
from tailrace.streams.records import address
from tailrace.streams.spool import SpoolLimits


@pytest.fixture
def served(tmp_path):
    with serving(tmp_path) as found:
        yield found


@pytest.mark.parametrize("given", ["Bearer %s", "bearer %s", "BEARER   %s ", "%s"])
def test_the_scheme_of_a_key_is_written_as_one_likes(given, tmp_path):
    with serving(tmp_path) as served:
        assert served.post("/v1/events", EVENT, Authorization=given % KEY)[0] == 202
        assert served.post("/v1/events", EVENT, Authorization=given % "")[0] == 401


def test_lines_are_kept_under_the_key_s_workspace(served):
    status, told = served.post("/v1/events", b"\n".join([EVENT] * 3))
    assert (status, told["accepted"]) == (202, 3)
    rows = served.rows("events")
    assert [(row["workspace_id"], row["source_ip"]) for row in rows] == [(42, address("127.0.0.1"))] * 3


def test_bad_lines_are_named_and_the_others_kept(served):
    body = b"\n".join([EVENT, b"{nope", EVENT.replace(DEVICE.encode(), b"no uuid"), EVENT])
    status, told = served.post("/v1/events", body)
    assert (status, told["accepted"], told["rejected"]) == (207, 2, 2)
    assert [error["line"] for error in told["errors"]] == [2, 3]
    assert len(served.rows("events")) == 2


@pytest.mark.parametrize(("path", "body", "headers", "status", "error"), [
    ("/v1/events", b"", {}, 400, "empty_body"),
    ("/v1/events", b"\n \n", {}, 400, "empty_body"),
    ("/v1/events", b"{\n{", {}, 400, "invalid_lines"),
    ("/v1/events", EVENT, {"Authorization": "Bearer " + "0" * 32}, 401, "unauthorized"),
    ("/v1/events", EVENT, {"Authorization": "Bearer ?"}, 401, "unauthorized"),
    ("/v1/events", b"no gzip", {"Content_Encoding": "gzip"}, 400, "encoding_error"),
    ("/v1/events", gzip.compress(EVENT)[:-4], {"Content_Encoding": "gzip"}, 400, "encoding_error"),
    ("/v1/events", EVENT, {"Content_Encoding": "br"}, 415, "unsupported_encoding"),
    ("/v1/ingest", b"x", {"Content_Type": "text/plain"}, 415, "unsupported_media_type"),
    ("/v1/ingest", b"", {"Content_Type": "application/octet-stream"}, 400, "empty_body"),
    ("/v1/ingest", b"x" * 50, {"Content_Type": "application/octet-stream"}, 400, "invalid_flatbuffer"),
    ("/v1/ingest", fw.events([fw.event()], key=bytes.fromhex(OTHER)), {"Content_Type": "application/x-tell"}, 403,
     "api_key_mismatch"),
    ("/v1/ingest", fw.batch(b"x" * 40, fw.METRIC), {"Content_Type": "application/x-tell"}, 400, "unsupported_schema"),
    ("/v1/nothing", b"", {}, 404, "not_found"),
], ids=range(14))  # fmt: skip
def test_what_is_refused(served, path, body, headers, status, error):
    found, told = served.post(path, body, **headers)
    assert (found, told["error"]) == (status, error)
    assert told["message"]
    assert served.post("/v1/events", EVENT)[0] == 202
    assert len(served.records()) == 1


def test_other_ways_to_say_the_key_and_the_form(served):
    node = gzip.compress(EVENT)
    status, _ = served.post("/v1/events", node, Content_Type="application/x-ndjson", Content_Encoding="gzip")
    assert status == 202
    host, port = served.place("http.h")
    flat = {"type": "track", "event": "e", "device_id": DEVICE.replace("-", ""), "plan": "pro", "service": "web"}
    sent = {"body": json.dumps(flat).encode(), "headers": {"Content-Type": "text/plain"}}
    assert served.pool.request("POST", f"http://{host}:{port}/v1/events?token={KEY}", **sent).status == 202
    sent["headers"] = {"X-API-Key": OTHER}
    assert served.pool.request("POST", f"http://{host}:{port}/v1/events", **sent).status == 202
    rows = served.rows("events")
    assert [row["workspace_id"] for row in rows] == [42, 42, 7]
    assert json.loads(rows[1]["payload"]) == {"plan": "pro", "service": "web"}


def test_batches_of_flatbuffers(served):
    for message in (fw.events([fw.event(1)], "v1"), fw.logs([fw.log()]), fw.snapshots([fw.snapshot()])):
        assert served.post("/v1/ingest", message, Content_Type="application/x-flatbuffers")[0] == 202
    found = served.decoded()
    assert [found.table(kind).num_rows for kind in ("events", "logs", "snapshots")] == [1, 1, 1]


def test_logs_and_snapshots(served):
    assert served.post("/v1/logs", b'{"message":"m","level":"notice"}')[0] == 202
    assert served.post("/v1/snapshots", b'{"source":"github","entity":"a/b","stars":1}')[0] == 202
    found = served.decoded()
    assert found.table("logs")["level"].to_pylist() == ["notice"]
    assert found.table("snapshots")["entity"].to_pylist() == ["a/b"]


def test_sizes_before_and_after_unpacking(tmp_path):
    with serving(tmp_path, http='max_body = "10KB"') as served:
        whole = EVENT + b" " * (10_000 - len(EVENT))
        assert served.post("/v1/events", whole)[0] == 202
        status, told = served.post("/v1/events", whole + b" ")
        assert (status, told["error"]) == (413, "payload_too_large")
        bomb = gzip.compress(b" " * 10_000_000)
        status, told = served.post("/v1/events", bomb, Content_Encoding="gzip")
        assert (status, told["error"]) == (413, "payload_too_large")
        assert served.post("/v1/events", EVENT)[0] == 202


def test_gzip_of_several_members(tmp_path):
    with serving(tmp_path, http='max_body = "10KB"') as served:
        lines = [b'{"message":"%d"}\n' % n for n in range(200)]
        members = [gzip.compress(line) for line in lines]
        assert served.post("/v1/logs", b"".join(members), Content_Encoding="gzip")[1]["accepted"] == 200
        assert served.post("/v1/logs", members[0] + bytes(5000) + members[1], Content_Encoding="gzip")[0] == 202
        for broken in (members[0] + b"{}", members[0] + members[1][:-3]):
            assert served.post("/v1/logs", broken, Content_Encoding="gzip")[1]["error"] == "encoding_error"
        many = gzip.compress(b" " * 6000) * 2
        assert served.post("/v1/logs", many, Content_Encoding="gzip")[1]["error"] == "payload_too_large"
        assert len(served.rows("logs")) == 202


def test_a_request_that_is_sent_again_is_stored_once(served):
    for _ in range(3):
        assert served.post("/v1/events", EVENT, Idempotency_Key="a")[0] == 202
    assert served.post("/v1/events", EVENT, Idempotency_Key="b")[0] == 202
    message = fw.events([fw.event()], batch_id=5)
    for _ in range(2):
        assert served.post("/v1/ingest", message, Content_Type="application/x-tell")[0] == 202
    assert served.count("deduplicated_batches") == 3
    assert len(served.rows("events")) == 3


def test_a_full_spool_says_when_to_come_again(tmp_path):
    with serving(tmp_path, limits=SpoolLimits(high_mark=100, reserve=0)) as served:
        assert served.post("/v1/events", EVENT)[0] == 202
        host, port = served.place("http.h")
        answer = served.pool.request("POST", f"http://{host}:{port}/v1/events", body=EVENT, headers=AUTH)
        assert (answer.status, answer.headers["Retry-After"]) == (503, "5")
        assert served.get("/ready").status == 503
        assert served.get("/health").status == 200


def test_31_who_sent_it_is_the_peer_unless_a_proxy_is_trusted(tmp_path):
    with serving(tmp_path) as served:
        served.post("/v1/events", EVENT, X_Forwarded_For="1.2.3.4")
        assert served.rows("events")[0]["source_ip"] == address("127.0.0.1")
    (tmp_path / "b").mkdir()
    with serving(tmp_path / "b", http='trusted_proxies = ["127.0.0.0/8", "10.0.0.0/8"]') as served:
        served.post("/v1/events", EVENT, X_Forwarded_For="6.6.6.6, 1.2.3.4, 10.0.0.1")
        assert served.rows("events")[0]["source_ip"] == address("1.2.3.4")


@pytest.mark.parametrize(("told", "sender"), [
    (("6.6.6.6", "1.2.3.4"), "1.2.3.4"),
    (("6.6.6.6", "1.2.3.4", "10.0.0.1"), "1.2.3.4"),
    (("1.2.3.4:4711",), "1.2.3.4"),
    (("2001:db8::1",), "2001:db8::1"),
    (("[2001:db8::1]:4711",), "2001:db8::1"),
])  # fmt: skip
@pytest.mark.parametrize("pieces", [1, 2])
def test_31_a_proxy_may_add_a_header_of_its_own_and_ports(told, sender, pieces, tmp_path):
    """So that what the client itself says of where it is stands in another header, before that of the proxy."""
    with serving(tmp_path, http='trusted_proxies = ["127.0.0.0/8", "10.0.0.0/8"]') as served:
        sent = request(EVENT, *(f"X-Forwarded-For: {hop}" for hop in told))
        parts = (sent,) if pieces == 1 else (sent[:-9], sent[-9:])
        assert answers(served, *parts).startswith(b"HTTP/1.1 202")
        assert served.rows("events")[0]["source_ip"] == address(sender)


def raw(served, *parts: bytes) -> bytes:
    with socket.create_connection(served.place("http.h"), timeout=20) as connection:
        for part in parts:
            connection.sendall(part)
        answer = b""
        while block := connection.recv(65536):
            answer += block
        return answer


HEAD = b"POST /v1/events HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\n" % KEY.encode()


@pytest.mark.parametrize("head", [
    b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    b"Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello!",
    b"Content-Length: five\r\n\r\n",
    b"X: y\r\n" * 200 + b"\r\n",
], ids=["both lengths", "two lengths", "no number", "many headers"])  # fmt: skip
def test_requests_whose_end_cannot_be_told_are_refused(served, head):
    assert raw(served, HEAD + head).startswith(b"HTTP/1.1 400")
    assert served.post("/v1/events", EVENT)[0] == 202


def test_a_head_without_end_is_cut_off(served):
    assert raw(served, HEAD + b"X: " + b"y" * 40_000).startswith(b"HTTP/1.1 431")


def test_slow_requests_are_cut_off(tmp_path):
    with serving(tmp_path, http='request_timeout = "0.3s"') as served:
        assert raw(served, HEAD[:30]).startswith(b"HTTP/1.1 408")
        assert raw(served, HEAD + b"Content-Length: 100\r\n\r\nabc").startswith(b"HTTP/1.1 408")
        assert served.post("/v1/events", EVENT)[0] == 202


def test_metrics(served):
    served.post("/v1/events", EVENT)
    page = served.get("/metrics").data.decode()
    for name in ("batches_received", "event_rows_written", "log_rows_written", "snapshot_rows_written",
                 "bytes_written", "files_created", "write_errors", "decode_errors"):  # fmt: skip
        assert f'tailrace_{name}_total{{sink="p"}} 0' in page
    assert 'tailrace_listener_records_received_total{listener="http.h"} 1' in page


def test_33_keys_are_read_again_as_a_whole_or_not_at_all(served):
    new = "a" * 32
    (served.root / "keys").write_text(f"{new}:5:new\nwrong\n")
    (error,) = served.listening.intake.reload_keys()
    assert error.where.endswith("keys:2")
    assert served.post("/v1/events", EVENT)[0] == 202
    (served.root / "keys").write_text(f"{new}:5:new\n")
    assert not served.listening.intake.reload_keys()
    assert served.post("/v1/events", EVENT)[0] == 401
    assert served.post("/v1/events", EVENT, Authorization=f"Bearer {new}")[0] == 202
    assert served.count("key_reload_errors") == 1


OTLP = 'listener "otlp" "o" {{\n port = 0\n workspace_id = 3\n}}\nsink "parquet" "p" {{ path = "{root}/p" }}'


def test_otlp_over_http(tmp_path):
    from otlpwrite import json_resource_logs, resource_logs

    record = {"body": "failed", "severity": 17}
    with serving(tmp_path, OTLP) as served:
        body = resource_logs({"service.name": "shop"}, "s", [record])
        assert served.post("/v1/logs", body, Content_Type="application/x-protobuf") == (200, None)
        text = json.dumps({"resourceLogs": [json_resource_logs({"service.name": "shop"}, "s", [record])]}).encode()
        assert served.post("/v1/logs", text, Content_Type="application/json") == (200, {})
        assert served.post("/v1/logs", b"x", Content_Type="text/plain")[0] == 415
        rows = served.rows("logs")
    assert [(r["service"], r["level"], r["workspace_id"]) for r in rows] == [("shop", "error", 3)] * 2


def test_head_and_body_of_an_answer_leave_in_one_piece():
    class Transport:
        sent: ClassVar[list[bytes]] = []

        def write(self, data: bytes) -> None:
            self.sent.append(data)

        def is_closing(self) -> bool:
            return b"closed" in self.sent

        def close(self) -> None:
            self.sent.append(b"closed")

    async def answers() -> None:
        joined = JoinedWrites(Transport(), asyncio.get_running_loop())
        joined.write(b"head ")
        joined.write(b"body")
        await asyncio.sleep(0)
        joined.write(b"last")
        joined.close()
        await asyncio.sleep(0)

    asyncio.run(answers())
    assert Transport.sent == [b"head body", b"last", b"closed"]


def test_who_sends_no_key_is_told_where_it_goes(served):
    told = {}
    for name, given in (("none", ""), ("wrong", "Bearer " + "0" * 32)):
        status, answer = served.post("/v1/events", EVENT, Authorization=given)
        assert status == 401
        told[name] = answer["message"]
    assert told["wrong"] == "no such API key"
    assert all(word in told["none"] for word in ("missing", "Authorization: Bearer", "X-API-Key", "?token="))


def test_counters_of_no_listener_have_no_label(served):
    served.listening.intake.count("config_reloads", "")
    served.post("/v1/events", EVENT)
    lines = served.get("/metrics").data.decode().splitlines()
    assert "tailrace_listener_config_reloads_total 1" in lines
    assert 'tailrace_listener_records_received_total{listener="http.h"} 1' in lines
