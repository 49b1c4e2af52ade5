"""A listener of OTLP over gRPC, and calls to it by hand."""

from __future__ import annotations

from typing import Any

import pytest
from otlpwrite import resource_logs

grpc = pytest.importorskip("grpc")

CONFIG = """
listener "otlp" "g" {{
  port = 0
  protocol = "grpc"
  workspace_id = 9
  max_body = "100KB"
  {http}
}}
sink "parquet" "p" {{ path = "{root}/parquet" }}
"""
METHOD = "/opentelemetry.proto.collector.logs.v1.LogsService/Export"


def request(body: str) -> bytes:
    return resource_logs({}, "s", [{"body": body}])


def called(served: Any, body: bytes, **metadata: str) -> bytes:
    host, port = served.place("otlp.g")
    with grpc.insecure_channel(f"{host}:{port}") as channel:
        answer: bytes = channel.unary_unary(METHOD)(body, timeout=20, metadata=tuple(metadata.items()))
        return answer
