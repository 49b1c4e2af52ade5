"""Statements about what windows write: OTAP in Arrow's IPC format, OTLP over HTTP, buckets; see docs/windows.md."""

from __future__ import annotations

import gzip
import signal
import threading
from collections import Counter
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pyarrow as pa
import pytest
from motobuckets import moto_buckets
from otaptables import START, simple, tables_of, write
from otlprequests import Told, proto_of_json, told_by_proto, told_by_request
from remotelake import bucket_place
from windowqueries import SAMPLED
from windowruns import MARGIN, MINUTE, places, results, run, spec_at, started, told

from tailrace.core.errors import SourceError
from tailrace.formats.protobuf_wire import varint, walk
from tailrace.lake.place import LocalPlace
from tailrace.windows import delivery
from tailrace.windows.asking import ask
from tailrace.windows.batches import LARGEST_BATCH
from tailrace.windows.delivery import Endpoint
from tailrace.windows.ipc import PAYLOADS, records
from tailrace.windows.run import WindowRun
from tailrace.windows.schema import ATTRS, LOGS, Tables, fitted
from tailrace.windows.to_proto import messages

REJECTED = {
    "application/x-protobuf": b"\x0a\x04\x08\x01\x12\x00",
    "application/json": b'{"partialSuccess": {"rejectedLogRecords": "1", "errorMessage": "full"}}',
}
"Answers that say that one log was not taken."
NAMES = {number: name for name, number in PAYLOADS.items()}


def messages_of(body: bytes) -> Iterator[dict[str, pa.Table]]:
    """The tables of every BatchArrowRecords in a file."""
    at = 0
    while at < len(body):
        size, at = varint(body, at, len(body))
        outer: list[tuple[int, ...]] = []
        assert walk(memoryview(body), 0, at, at + size, outer)
        found = {}
        for _, number, _, length, start in outer:
            if number == 2:
                inner: list[tuple[int, ...]] = []
                assert walk(memoryview(body), 0, start, start + length, inner)
                held = {member[1]: member for member in inner}
                begin, count = held[3][4], held[3][3]
                found[NAMES[held[2][3]]] = pa.ipc.open_stream(body[begin : begin + count]).read_all()
        yield found
        at += size


def tables_again(found: dict[str, pa.Table]) -> Tables:
    attributes = [fitted(found.get(name, ATTRS.empty_table()), ATTRS) for name in list(PAYLOADS)[1:]]
    return Tables(fitted(found["logs"], LOGS), *attributes)


def test_a26_messages_of_otap_have_short_dense_ids_and_say_so() -> None:
    """200,000 logs whose ids are far apart: as few messages as hold them, no log in two."""
    count = 200_000
    ids = pa.array([0, 10**6, 4 * 10**9, *range(1, count - 2)], pa.uint32())
    one = tables_of(simple("shop", ["a"]))
    rows = one.logs.take(pa.array([0] * count)).set_column(0, "id", ids)
    parents = pa.concat_arrays([ids, ids])
    attributes = one.log_attrs.take(pa.array([0] * count + [1] * count)).set_column(0, ATTRS.field(0), parents)
    body = b"".join(records(Tables(rows, attributes, one.resource_attrs, one.scope_attrs)))
    made = list(messages_of(body))
    assert [len(tables["logs"]) for tables in made] == [LARGEST_BATCH] * 3 + [count - 3 * LARGEST_BATCH]
    for tables in made:
        logs = tables["logs"]
        assert logs["id"].to_pylist() == list(range(len(logs)))
        assert "event_name" not in logs.column_names
        parents = tables["log_attrs"]["parent_id"].to_numpy()
        assert parents.dtype == "uint16"
        assert Counter(parents.tolist()) == dict.fromkeys(range(len(logs)), 2)
        fields = [logs.schema.field("id"), tables["log_attrs"].schema.field("parent_id")]
        fields += [logs.schema.field(name).type.field("id") for name in ("resource", "scope")]
        assert {field.type for field in fields} == {pa.uint16()}
        assert {field.metadata[b"encoding"] for field in fields} == {b"plain"}


def test_windows_as_messages_of_otap(tmp_path: Path) -> None:
    requests = [simple("shop", ["a", "b"]), simple("bank", ["c"], attributes=False)]
    requests[0][0]["scopes"][0]["records"][0]["attributes"] += (("deep", (("k", [1, b"x"]),)), ("no", None))
    write(tmp_path / "in", *requests)
    run(tmp_path, form="otap_ipc")
    ((name, body),) = results(tmp_path).items()
    assert name.endswith(".otap")
    found: Told = Counter()
    for tables in messages_of(body):
        found += sum(map(told_by_proto, messages(tables_again(tables))), Counter())
    assert found == sum(map(told_by_request, requests), Counter())


class Receiver(ThreadingHTTPServer):
    """Takes logs; answers what it is told to first."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Taking)
        self.answers: list[int] = []
        self.taken: dict[str, bytes] = {}
        self.keys: list[str] = []
        self.kinds: set[str] = set()

    @property
    def endpoint(self) -> Endpoint:
        return Endpoint(f"http://127.0.0.1:{self.server_port}", (("x-token", "t"),), backoff=0.001)

    def told(self) -> Told:
        """Each request once, by its key, as a receiver would."""
        return sum(map(told_by_proto, self.taken.values()), Counter())


class Taking(BaseHTTPRequestHandler):
    server: Receiver

    def do_POST(self) -> None:
        body = gzip.decompress(self.rfile.read(int(self.headers["Content-Length"])))
        assert (self.path, self.headers["x-token"]) == ("/v1/logs", "t")
        status = self.server.answers.pop(0) if self.server.answers else 200
        if status == 200:
            key = self.headers["Idempotency-Key"]
            self.server.keys.append(key)
            self.server.kinds.add(self.headers["Content-Type"])
            self.server.taken[key] = proto_of_json(body.decode()) if body[:1] == b"{" else body
        self.send_response(status)
        answer = REJECTED[self.headers["Content-Type"]] if status == 200 else b""
        self.send_header("Content-Length", str(len(answer)))
        if status == 503:
            self.send_header("Retry-After", "7200")
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_: object) -> None:
        return


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with Receiver() as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.mark.parametrize("form", ["otlp_proto", "otlp_json"])
def test_results_are_delivered_once_per_window(
    form: str, receiver: Receiver, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody waits for hours, and what was rejected is counted."""
    monkeypatch.setattr(delivery, "LONGEST_WAIT", 0.1)
    requests = [simple("shop", ["a", "b"], time=START + n * MINUTE) for n in range(3)]
    write(tmp_path / "in", *requests)
    receiver.answers = [503, 429]
    state = run(tmp_path, form=form, endpoint=receiver.endpoint).state
    assert receiver.told() == sum(map(told_by_request, requests), Counter())
    assert len(receiver.keys) == len(receiver.taken) == 3
    assert (state.windows, state.waiting) == (3, {})
    assert state.rejected == 3
    run(tmp_path, form=form, endpoint=receiver.endpoint)
    assert len(receiver.keys) == 3
    assert len(receiver.kinds) == 1


def test_what_could_not_be_delivered_is_sent_by_the_next_run(receiver: Receiver, tmp_path: Path) -> None:
    write(tmp_path / "in", *(simple("shop", ["a"], time=START + n * MINUTE) for n in range(3)))
    receiver.answers = [200, 400]
    with pytest.raises(SourceError, match="it answers 400"):
        run(tmp_path, endpoint=receiver.endpoint)
    assert len(results(tmp_path)) == 3
    assert len(run(tmp_path, endpoint=receiver.endpoint).state.waiting) == 0
    assert len(receiver.keys) == len(receiver.taken) == 3
    # Windows that were finished without an address do not wait for one.
    other = tmp_path / "other"
    other.mkdir()
    (other / "in").symlink_to(tmp_path / "in")
    run(other)
    run(other, endpoint=receiver.endpoint)
    assert len(receiver.keys) == 3


def test_large_results_are_sent_in_pieces(receiver: Receiver, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    requests = [simple(f"s{n}", ["a", "b"]) for n in range(5)]
    write(tmp_path / "in", *requests)
    monkeypatch.setattr(delivery, "REQUEST", 200)
    run(tmp_path, endpoint=receiver.endpoint)
    assert len(receiver.keys) > 1
    assert receiver.told() == sum(map(told_by_request, requests), Counter())


def test_a_run_that_dies_after_sending_sends_again_under_the_same_key(receiver: Receiver, tmp_path: Path) -> None:
    requests = [simple("shop", ["a"], time=START + n * MINUTE) for n in range(3)]
    write(tmp_path / "in", *requests)
    url, now = receiver.endpoint.url, START + 3 * MINUTE + MARGIN
    with started(tmp_path, now, ENDPOINT=url, TAILRACE_KILL_AT="window-delivered:2") as process:
        process.communicate(timeout=60)
    assert process.returncode == -signal.SIGKILL
    with started(tmp_path, now, ENDPOINT=url) as process:
        process.communicate(timeout=60)
    assert process.returncode == 0
    assert (len(receiver.keys), len(receiver.taken)) == (5, 3)
    assert receiver.told() == sum(map(told_by_request, requests), Counter())


def test_tables_and_results_in_a_bucket(tmp_path: Path) -> None:
    requests = [simple("shop", ["a", "b"], attributes=n % 2 > 0, time=START + n * MINUTE) for n in range(3)]
    write(tmp_path / "in", *requests)
    with moto_buckets() as moto:
        objects = {f"otap/{path.relative_to(tmp_path / 'in')}": path.read_bytes()
                   for path in (tmp_path / "in").rglob("*.parquet")}  # fmt: skip
        moto.bucket("logs", objects)
        base, out = (bucket_place(moto.url, name, "logs") for name in ("otap", "out"))
        for form in ("otlp_proto", "otap_parquet"):
            spec = spec_at(tmp_path, base=base, out=out / form, form=form)
            made = WindowRun(spec, places(tmp_path / form))
            assert made.run(START + 100 * MINUTE) == 3
        names = sorted(out.walk())
        bodies = [out.read(name) for name in names if name.endswith(".pb")]
        assert not [name for name in names if "_staged" in name]
        assert sum(map(told_by_proto, bodies), Counter()) == sum(map(told_by_request, requests), Counter())
        chained = WindowRun(spec_at(tmp_path, base=out / "otap_parquet"), places(tmp_path))
        assert chained.run(START + 100 * MINUTE) == 3
        assert told(tmp_path) == sum(map(told_by_request, requests), Counter())


def test_what_a_query_selects_can_be_asked_about(tmp_path: Path) -> None:
    """The document's joins with `selected_ids`, as printed."""
    write(tmp_path, simple("shop", ["x"] * 30), simple("bank", ["y"] * 3, attributes=False))
    follow = "SELECT * FROM logs l\nJOIN selected_ids si ON l.id = si.sampled_id AND l._part_id = si._part_id"
    place = LocalPlace(str(tmp_path))
    logs = ask(place, SAMPLED.replace("100", "5"), then=follow)
    assert len(logs) == 8
    other = """SELECT * FROM resource_attributes ra
JOIN selected_ids si ON ra.parent_id = si.sampled_id AND ra._part_id = si._part_id"""
    resources = ask(place, SAMPLED.replace("100", "5"), then=other)
    assert Counter(resources["str"].to_pylist()) == {"shop": 5, "bank": 3}
