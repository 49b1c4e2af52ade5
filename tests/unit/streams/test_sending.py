"""What `send` makes of answers; to a listener of ours it sends in the tests of `serve`."""

from __future__ import annotations

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from tailrace.core.errors import SourceError
from tailrace.streams.sending import Sent, Target

ACCEPTED = (202, b'{"accepted":1}', {})


@pytest.fixture
def answering():
    """A server that gives the answers of a list, one after another."""
    answers: list[tuple[int, bytes, dict[str, str]]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            status, body, headers = answers.pop(0)
            self.send_response(status)
            for name, value in {"Content-Length": str(len(body)), **headers}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield answers, f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


@pytest.fixture
def lines(tmp_path):
    (tmp_path / "a.jsonl").write_text("{}\n")
    return [tmp_path / "a.jsonl"]


@pytest.mark.parametrize(("status", "after"), [(429, "0"), (503, "0"), (503, "Wed, 21 Oct 2026 07:28:00 GMT")])
def test_who_is_asked_to_wait_sends_again(answering, lines, status, after):
    answers, url = answering
    answers += [(status, b"later", {"Retry-After": after}), ACCEPTED]
    assert Target(url).send(lines) == Sent(lines=1, accepted=1, requests=2, retries=1)


@pytest.mark.parametrize("body", [b"<html>Not Found</html>", b"[]", b""])
def test_a_server_that_is_no_listener(answering, lines, body):
    answers, url = answering
    answers.append((404, body, {}))
    with pytest.raises(SourceError, match="answered 404") as raised:
        Target(url).send(lines)
    assert (raised.value.code, raised.value.exit_code) == ("send.refused", 5)
