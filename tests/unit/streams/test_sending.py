"""What `send` makes of answers; to a listener of ours it sends in the tests of `serve`."""

from __future__ import annotations

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import flatwrite as fw
import pytest
from liveserver import EVENT, KEY, serving

from tailrace.core.errors import SourceError, UsageError
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


def test_a_request_that_is_refused_as_a_whole_is_no_success(answering, lines):
    answers, url = answering
    answers.append((400, b'{"error":"encoding_error","message":"no gzip"}', {}))
    with pytest.raises(SourceError, match="answered 400: no gzip"):
        Target(url).send(lines)
    answers.append((400, b'{"error":"invalid_lines","rejected":1}', {}))
    assert Target(url).send(lines) == Sent(lines=1, rejected=1, requests=1)


def test_frames_are_counted_and_have_to_be_whole(tmp_path):
    whole, torn = tmp_path / "whole", tmp_path / "torn"
    whole.write_bytes(fw.framed(fw.events([fw.event()]), fw.events([fw.event(1)])))
    torn.write_bytes(whole.read_bytes()[:-1])
    with serving(tmp_path) as served:
        host, port = served.place("tcp.t")
        assert Target(f"tcp://{host}:{port}").send([whole]) == Sent(lines=2, accepted=2)
        with pytest.raises(UsageError, match="does not end with a frame"):
            Target(f"tcp://{host}:{port}").send([torn])
        assert len(served.rows("events")) == 2


def test_the_first_line_that_is_rejected_is_told_as_the_file_counts(tmp_path):
    (tmp_path / "mixed").write_bytes(b"\n\n".join([EVENT, EVENT, b"{}", EVENT, b"{nope"]))
    with serving(tmp_path) as served:
        host, port = served.place("http.h")
        sent = Target(f"http://{host}:{port}", KEY, batch=2).send([tmp_path / "mixed"])
    assert (sent.lines, sent.accepted, sent.rejected, sent.requests) == (5, 3, 2, 3)
    assert sent.first_rejected is not None
    assert sent.first_rejected.startswith(f"{tmp_path}/mixed:5, sent as events: Object missing required field")
