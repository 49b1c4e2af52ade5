"""`GET /metrics` while a collection goes on."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from tailrace.core.errors import UsageError

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


@contextmanager
def metrics_server(host: str, port: int, text: Callable[[], str]) -> Iterator[str]:
    """Serves the text to whoever asks, in threads of its own; yields the address."""

    class Handler(BaseHTTPRequestHandler):
        timeout = 10
        "Seconds for a request that does not come to its end."

        def do_GET(self) -> None:
            found = self.path.partition("?")[0] == "/metrics"
            body = text().encode() if found else b"metrics are at /metrics\n"
            self.send_response(200 if found else 404)
            self.send_header("Content-Type", CONTENT_TYPE if found else "text/plain")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            return

    class Server(ThreadingHTTPServer):
        address_family = socket.AF_INET6 if ":" in host else socket.AF_INET
        daemon_threads = True

        def handle_error(self, *_: object) -> None:
            """A reader that went away is nobody's concern."""

    try:
        server = Server((host, port), Handler)
    except (OSError, OverflowError) as error:
        why = getattr(error, "strerror", None) or str(error)
        hint = "choose another --metrics-port; 0 takes any that is free"
        raise UsageError(f"cannot listen on {host}:{port}: {why}", code="usage.metrics-port", hint=hint) from error
    thread = threading.Thread(target=server.serve_forever, args=(0.1,), name="metrics", daemon=True)
    thread.start()
    try:
        shown = f"[{host}]" if ":" in host else host
        yield f"http://{shown}:{server.server_address[1]}/metrics"
    finally:
        server.shutdown()
        server.server_close()
