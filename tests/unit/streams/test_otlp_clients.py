"""OTLP from those who speak it: gRPC by itself, and the exporters of OpenTelemetry where they are installed."""

from __future__ import annotations

import json
import logging
import warnings
from pathlib import Path

import pytest
from grpccalls import CONFIG, called, request
from liveserver import KEY, serving

from tailrace.streams.records import address
from tailrace.streams.spool import SpoolLimits

grpc = pytest.importorskip("grpc")


def test_logs_over_grpc(tmp_path: Path) -> None:
    with serving(tmp_path, CONFIG) as served:
        assert called(served, request("first")) == b""
        with pytest.raises(grpc.RpcError) as refused:
            called(served, b"x" * 200_000)
        assert refused.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
        (row,) = served.rows("logs")
    assert (row["workspace_id"], row["source_ip"]) == (9, address("127.0.0.1"))
    assert json.loads(row["document"])["message"] == "first"


def test_who_sends_no_key_over_grpc_is_told_where_it_goes(tmp_path: Path) -> None:
    with serving(tmp_path, CONFIG, http=f'api_keys_file = "{tmp_path}/keys"') as served:
        assert called(served, request("m"), authorization=f"bearer  {KEY}") == b""
        with pytest.raises(grpc.RpcError) as refused:
            called(served, b"")
        assert refused.value.code() is grpc.StatusCode.UNAUTHENTICATED
        assert all(word in refused.value.details() for word in ("missing", "authorization", "x-api-key"))


def test_keys_and_limits_over_grpc(tmp_path: Path) -> None:
    more = f'api_keys_file = "{tmp_path}/keys"\n rate_limit = 2'
    with serving(tmp_path, CONFIG, http=more) as served:
        with pytest.raises(grpc.RpcError) as refused:
            called(served, b"", authorization="Bearer 0")
        assert refused.value.code() is grpc.StatusCode.UNAUTHENTICATED
        body = request("m")
        assert called(served, body, authorization=f"Bearer {KEY}") == called(served, body, **{"x-api-key": KEY}) == b""
        with pytest.raises(grpc.RpcError) as refused:
            called(served, body, **{"x-api-key": KEY})
        assert refused.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
        assert (served.count("auth_failures"), served.count("rate_limited")) == (1, 1)
        assert [row["workspace_id"] for row in served.rows("logs")] == [42, 42]


@pytest.mark.parametrize("proxies", ["", 'trusted_proxies = ["127.0.0.0/8"]'])
@pytest.mark.parametrize("protocol", ["grpc", "http"])
def test_31_a_trusted_proxy_says_for_whom_it_speaks(tmp_path: Path, protocol: str, proxies: str) -> None:
    config = CONFIG.replace('protocol = "grpc"', f'protocol = "{protocol}"')
    with serving(tmp_path, config, http=proxies) as served:
        if protocol == "grpc":
            called(served, request("m"), **{"x-forwarded-for": "6.6.6.6, 1.2.3.4"})
        else:
            form = "application/x-protobuf"
            served.post("/v1/logs", request("m"), Content_Type=form, X_Forwarded_For="6.6.6.6, 1.2.3.4")
        (row,) = served.rows("logs")
    assert row["source_ip"] == address("1.2.3.4" if proxies else "127.0.0.1")


def test_a_full_spool_is_unavailable(tmp_path: Path) -> None:
    with serving(tmp_path, CONFIG, limits=SpoolLimits(high_mark=0, reserve=0)) as served:
        with pytest.raises(grpc.RpcError) as refused:
            called(served, request("m"))
        assert refused.value.code() is grpc.StatusCode.UNAVAILABLE


@pytest.mark.parametrize("protocol", ["grpc", "http"])
def test_the_exporters_of_opentelemetry(tmp_path: Path, protocol: str) -> None:
    name = f"opentelemetry.exporter.otlp.proto.{protocol}._log_exporter"
    exporting = pytest.importorskip(name)
    logs = pytest.importorskip("opentelemetry.sdk._logs")
    from opentelemetry.sdk._logs.export import BatchLogRecordProcessor
    from opentelemetry.sdk.resources import Resource

    config = CONFIG.replace('protocol = "grpc"', f'protocol = "{protocol}"')
    with serving(tmp_path, config) as served, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        host, port = served.place("otlp.g")
        if protocol == "grpc":
            exporter = exporting.OTLPLogExporter(endpoint=f"http://{host}:{port}", insecure=True)
        else:
            exporter = exporting.OTLPLogExporter(endpoint=f"http://{host}:{port}/v1/logs")
        provider = logs.LoggerProvider(Resource.create({"service.name": "shop", "host.name": "h1"}))
        provider.add_log_record_processor(BatchLogRecordProcessor(exporter))
        logger = logging.Logger("shop")
        logger.addHandler(logs.LoggingHandler(logger_provider=provider))
        for number in range(100):
            logger.warning("order %d", number, extra={"customer": number})
        provider.shutdown()
        rows = served.rows("logs")
    assert [json.loads(row["document"])["message"] for row in rows] == [f"order {n}" for n in range(100)]
    assert {(row["level"], row["service"], row["source"]) for row in rows} == {("warning", "shop", "h1")}
    assert json.loads(rows[7]["document"])["attributes"]["customer"] == 7
