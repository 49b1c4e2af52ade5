"""moto in this process, for S3 and STS; every request is noted, and keys can be refused."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs

Request = tuple[str, str, dict[str, str]]
KEYS = {"aws_access_key_id": "AKIDTEST", "aws_secret_access_key": "hidden", "region_name": "us-east-1"}


@dataclass
class Moto:
    """Where it listens and what it was asked."""

    url: str = ""
    requests: list[Request] = field(default_factory=list)
    "Method, path, and parameters; `key` is the id of the key that signed it."
    denied: set[str] = field(default_factory=set)
    "Paths such as `/bucket/key`."

    def __post_init__(self) -> None:
        self.note: Callable[[Request], object] = self.requests.append

    def client(self, service: str = "s3") -> Any:
        import boto3

        return boto3.client(service, endpoint_url=self.url, **KEYS)

    def bucket(self, name: str, objects: dict[str, bytes]) -> None:
        client = self.client()
        client.create_bucket(Bucket=name)
        for key, data in objects.items():
            client.put_object(Bucket=name, Key=key, Body=data)
        self.requests.clear()

    def lists(self) -> list[str]:
        """Prefixes that were listed."""
        return [query.get("prefix", "") for _, _, query in self.requests if "list-type" in query]

    def gets(self) -> list[str]:
        return [path for method, path, query in self.requests if method == "GET" and "list-type" not in query]

    def signers(self) -> set[str]:
        return {query["key"] for _, _, query in self.requests if "key" in query}


@contextmanager
def moto_buckets() -> Iterator[Moto]:
    from moto.backends import get_backend
    from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
    from werkzeug.serving import WSGIRequestHandler, make_server

    moto, conditional = Moto(), threading.Lock()
    inner = DomainDispatcherApplication(create_backend_app)
    handler = type("Quiet", (WSGIRequestHandler,), {"log_request": lambda *_: None, "protocol_version": "HTTP/1.1"})

    def app(environ: dict[str, Any], start_response: Any) -> Any:
        query = {name: values[0] for name, values in parse_qs(environ["QUERY_STRING"]).items()}
        signer = re.search(r"Credential=([^/]+)/", environ.get("HTTP_AUTHORIZATION", ""))
        moto.note((environ["REQUEST_METHOD"], environ["PATH_INFO"], query | ({"key": signer[1]} if signer else {})))
        if environ["PATH_INFO"] in moto.denied:
            error = b"<Error><Code>AccessDenied</Code><Message>no</Message></Error>"
            body = b"<ErrorResponse>%s</ErrorResponse>" % error if environ["PATH_INFO"] == "/" else error
            start_response("403 Forbidden", [("Content-Length", str(len(body)))])
            return [body]
        # moto looks first and puts then; S3 does both in one step.
        with conditional if "HTTP_IF_NONE_MATCH" in environ or "HTTP_IF_MATCH" in environ else nullcontext():
            return inner(environ, start_response)

    server = make_server("127.0.0.1", 0, app, threaded=True, request_handler=handler)
    server.daemon_threads = True  # type: ignore[attr-defined]
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    moto.url = f"http://127.0.0.1:{server.server_port}"
    try:
        yield moto
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
        for service in ("s3", "sts", "sqs"):
            for account in get_backend(service).values():
                for backend in account.values():
                    backend.reset()
