"""TCP and syslog: frames and messages are kept, tenants apart; malformed traffic harms only itself."""

from __future__ import annotations

import asyncio
import contextlib
import random
import socket
import ssl
import time

import flatwrite as fw
import pytest
from hypothesis import given
from hypothesis import strategies as st
from liveserver import OTHER, serving

from tailrace.streams.records import address
from tailrace.streams.spool import SpoolFull, SpoolLimits
from tailrace.streams.syslog_listener import cut
from tailrace.streams.tcp_listener import TcpListener

STRANGE = b"\x77" * 16


@pytest.fixture
def served(tmp_path):
    with serving(tmp_path) as found:
        yield found


def send(place: tuple[str, int], *parts: bytes, pause: float = 0.0) -> None:
    """Sends, and waits until the listener has read everything and closed."""
    with socket.create_connection(place, timeout=20) as connection:
        for part in parts:
            connection.sendall(part)
            time.sleep(pause)
        connection.shutdown(socket.SHUT_WR)
        with contextlib.suppress(ConnectionResetError):
            connection.recv(1)


def names(served) -> list[str]:
    return [row["event_name"] for row in served.rows("events")]


def test_frames_in_any_pieces(served):
    data = fw.framed(*(fw.events([fw.event(n)]) for n in range(20)))
    send(served.place("tcp.t"), *(data[at : at + 97] for at in range(0, len(data), 97)))
    assert names(served) == [f"page_view_{n}" for n in range(20)]


def test_two_tenants_on_one_connection_stay_apart(served):
    keys = [fw.KEY, bytes.fromhex(OTHER), STRANGE] * 4
    send(served.place("tcp.t"), fw.framed(*(fw.events([fw.event(n)], key=key) for n, key in enumerate(keys))))
    assert served.count("auth_failures") == 4
    found = {row["event_name"]: row["workspace_id"] for row in served.rows("events")}
    assert found == {f"page_view_{n}": 42 if n % 3 == 0 else 7 for n in range(12) if n % 3 != 2}


MALFORMED = {
    "text": b'{"type":"track"}', "zeros": bytes(4), "ones": b"\xff" * 4, "too large": b"\x40\x00\x00\x00" + b"x" * 100,
    "larger than data": b"\x00\x00\x01\x00short", "bad vtable": fw.framed(b"\x10\x00\x00\x00" + b"\xff" * 30),
    "random": random.Random(1).randbytes(1000), "two bytes": b"\x00\x00", "three bytes": b"\x00\x00\x00",
    "many zeros": bytes(100),
    "text with a mark": b"\xef\xbb\xbfhello", "17 MiB": (17 << 20).to_bytes(4) + b"x" * 1000,
}  # fmt: skip


@pytest.mark.parametrize("name", MALFORMED)
def test_23_malformed_traffic_is_counted_and_harms_nobody(served, name):
    send(served.place("tcp.t"), MALFORMED[name])
    assert served.count("messages_malformed") == (25 if name == "many zeros" else 1)
    assert served.count("auth_failures") == served.count("decode_errors") == 0
    # On the same connection as well, unless it cannot be told where a frame begins.
    send(served.place("tcp.t"), fw.framed(b"x" * 30, fw.events([fw.event(1)])))
    assert names(served) == ["page_view_1"]


def test_23_spoiled_records_are_kept_apart(served):
    """The wrapper is good and the key known: what is inside is looked at when it is stored."""
    good = fw.events([fw.event(1), fw.event(2, name=b"\xff\xfe"), fw.event(3, device=bytes(15))])
    send(served.place("tcp.t"), fw.framed(good, fw.events([]), fw.batch(b"\xff" * 40)))
    found = served.decoded()
    assert [row["event_name"] for row in found.table("events").to_pylist()] == ["page_view_1", "page_view_3"]
    assert [row["device_id"] for row in found.table("events").to_pylist()] == [fw.DEVICE, None]
    assert [(one.position, one.reason.partition(":")[0]) for one in found.refused] == [
        (-1, "flatbuffers"), (1, "flatbuffers"),
    ]  # fmt: skip


def test_23_many_connections_in_a_row(served):
    for _ in range(200):
        socket.create_connection(served.place("tcp.t"), timeout=20).close()
    send(served.place("tcp.t"), fw.framed(fw.events([fw.event(1)])))
    assert names(served) == ["page_view_1"]


def test_a_batch_that_is_sent_again_is_stored_once(served):
    same, other = fw.events([fw.event(1)], batch_id=9), fw.events([fw.event(2)], batch_id=9)
    send(served.place("tcp.t"), fw.framed(same, other, same))
    send(served.place("tcp.t"), fw.framed(same, fw.events([fw.event(3)]), fw.events([fw.event(3)])))
    assert served.count("deduplicated_batches") == 2
    assert names(served) == ["page_view_1", "page_view_2", "page_view_3", "page_view_3"]


def test_31_the_sender_named_by_a_batch_counts_only_from_a_proxy(tmp_path):
    message = fw.framed(fw.events([fw.event()], ip=address("9.9.9.9")))
    with serving(tmp_path) as served:
        send(served.place("tcp.t"), message)
        assert served.rows("events")[0]["source_ip"] == address("127.0.0.1")
    (tmp_path / "b").mkdir()
    with serving(tmp_path / "b", tcp='trusted_proxies = ["127.0.0.1"]') as served:
        send(served.place("tcp.t"), message)
        assert served.rows("events")[0]["source_ip"] == address("9.9.9.9")


def test_a_layout_that_is_said_holds(tmp_path):
    trimmed = fw.built_events([fw.event(payload=None, name=None, session=None, service="x")])
    with serving(tmp_path, tcp='event_layout = "v2"') as served:
        send(served.place("tcp.t"), fw.framed(trimmed))
        (row,) = served.rows("events")
    assert (row["service"], row["device_id"]) == ("x", fw.DEVICE)


def test_a_full_spool_stops_reading_and_loses_nothing(tmp_path):
    limits = SpoolLimits(high_mark=200, reserve=0, segment_seconds=0.05)
    with serving(tmp_path, limits=limits) as served, contextlib.ExitStack() as closing:
        connection = closing.enter_context(socket.create_connection(served.place("tcp.t"), timeout=20))
        connection.sendall(fw.framed(fw.events([fw.event(1)])))
        _until(lambda: served.listening.intake.full)
        connection.sendall(fw.framed(fw.events([fw.event(2)])))
        time.sleep(0.2)
        assert served.count("messages_received") == 1
        served.listening.intake.spool.limits = SpoolLimits(reserve=0)
        _until(lambda: served.count("messages_received") == 2)
        assert names(served) == ["page_view_1", "page_view_2"]


def test_a_batch_that_had_to_wait_is_known_when_it_is_sent_again(served, monkeypatch):
    """The disk fails once; the listener keeps what it has read, and knows it afterwards."""
    spool = served.listening.intake.spool
    original, failures = spool.put, iter([True])

    def put(record, done):
        if next(failures, False):
            spool.forget(record.key, record.identities)
            done(SpoolFull("the disk fails"))
        else:
            original(record, done)

    monkeypatch.setattr(spool, "put", put)
    frame = fw.framed(fw.events([fw.event(1)], batch_id=5))
    send(served.place("tcp.t"), frame)
    send(served.place("tcp.t"), frame)
    assert served.count("backpressure") == 1
    assert served.count("deduplicated_batches") == 1
    assert names(served) == ["page_view_1"]


def test_a_batch_that_waits_is_not_stored_beside_one_that_is_sent_again(served, monkeypatch):
    """The disk is full for a while, and the client tries another connection, and HTTP, before the first is stored."""
    spool = served.listening.intake.spool
    original, full = spool.put, [True]

    def put(record, done):
        if full:
            spool.forget(record.key, record.identities)
            done(SpoolFull("the disk is full"))
        else:
            original(record, done)

    monkeypatch.setattr(spool, "put", put)
    # Two tenants make two records of one read: the second waits behind the first.
    other = fw.events([fw.event(1)], key=bytes.fromhex(OTHER), batch_id=6)
    batch = fw.events([fw.event(2)], batch_id=5)
    with socket.create_connection(served.place("tcp.t"), timeout=20) as first:
        first.sendall(fw.framed(other, batch))
        _until(lambda: served.count("backpressure"))
        send(served.place("tcp.t"), fw.framed(batch))
        assert served.count("deduplicated_batches") == 1
        # What only waits in memory is promised to nobody.
        status, _ = served.post("/v1/ingest", batch, Content_Type="application/octet-stream")
        assert status == 503
        full.clear()
        _until(lambda: served.count("records_received") == 2)
        assert served.post("/v1/ingest", batch, Content_Type="application/octet-stream")[0] == 202
    assert sorted(names(served)) == ["page_view_1", "page_view_2"]


def test_connections_that_stay_open_do_not_hold_up_the_end(served):
    place = served.place("tcp.t")
    with socket.create_connection(place) as idle, socket.create_connection(place) as busy:
        _until(lambda: len(served.listening._opened["tcp.t"]._connected) == 2)
        busy.sendall(fw.framed(fw.events([fw.event(1)])))
        began = time.monotonic()
        assert names(served) == ["page_view_1"]
        assert time.monotonic() - began < 10
        assert idle.recv(1) == b""


def test_more_connections_than_allowed_are_closed(tmp_path):
    with serving(tmp_path, tcp="max_connections = 1") as served:
        with socket.create_connection(served.place("tcp.t"), timeout=20) as first:
            first.sendall(b"\0")
            _until(lambda: served.listening._opened["tcp.t"]._connected)
            with socket.create_connection(served.place("tcp.t"), timeout=20) as second:
                assert second.recv(1) == b""
        assert served.count("connections_refused") == 1


def _until(holds) -> None:
    deadline = time.monotonic() + 20
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.01)


LINE = b"<134>Jan 15 12:00:00 host1 app[7]: Message"


def test_32_syslog_over_tcp_in_every_framing(served):
    counted = b"%d %s1" % (len(LINE) + 1, LINE)
    send(served.place("syslog.s"), LINE + b"2\r\n" + LINE + b"3\n" + counted + counted + LINE + b"4")
    rows = served.rows("logs")
    assert [row["payload"][-1:] for row in rows] == [b"2", b"3", b"1", b"1", b"4"]
    assert {(row["workspace_id"], row["source"], row["service"], row["level"]) for row in rows} == {
        (9, "host1", "app", "info")
    }


def test_32_a_line_in_two_pieces_stays_whole(served):
    send(served.place("syslog.s"), LINE[:20], LINE[20:] + b"\n", pause=0.3)
    assert [row["payload"] for row in served.rows("logs")] == [LINE]


def test_32_datagrams_have_their_own_sender(served):
    place = served.place("syslog.s/udp")
    for host in ("127.0.0.1", "127.0.0.2"):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
            sender.bind((host, 0))
            sender.sendto(LINE + b"\n", place)
    _until(lambda: served.count("messages_received") == 2)
    assert [row["source_ip"] for row in served.rows("logs")] == [address("127.0.0.1"), address("127.0.0.2")]


def test_32_messages_that_are_too_long_are_quarantined_whole(tmp_path):
    with serving(tmp_path, syslog='max_message = "1KB"') as served:
        long = b"<13>" + b"x" * 1500
        send(served.place("syslog.s"), long + b"\n" + LINE + b"\n")
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
            sender.sendto(long, served.place("syslog.s/udp"))
        _until(lambda: served.count("messages_oversize") == 2)
        found = served.decoded()
    assert [(refused.raw, refused.reason) for refused in found.refused] == [
        (long, "syslog: longer than max_message")
    ] * 2
    assert found.table("logs").num_rows == 1


MESSAGE = st.binary(min_size=1, max_size=30).map(lambda b: b"<1>" + b.replace(b"\n", b"").strip(b"\r\0"))


@given(st.lists(MESSAGE), st.data())
def test_messages_are_cut_the_same_in_any_pieces(messages, data):
    stream = b"".join(
        b"%d %s" % (len(m), m) if data.draw(st.booleans()) else m + b"\n" for m in messages
    )  # fmt: skip
    held, found, at = b"", [], 0
    while at < len(stream):
        size = data.draw(st.integers(1, len(stream)))
        new, held = cut(held + stream[at : at + size])
        found += new
        at += size
    new, rest = cut(held, at_end=True)
    assert [*found, *new] == messages
    assert rest == b""


@pytest.mark.parametrize("rest", [b"", b" ", b"\0", b"\r\n", b" \0", b"\n\0\0"])
def test_an_end_that_says_nothing_is_no_message(rest: bytes) -> None:
    assert cut(b"<13>a\n<13>b" + rest, at_end=True) == ([b"<13>a", b"<13>b" + rest.rstrip(b"\r\n\0")], b"")
    assert cut(b"<13>a\n" + rest, at_end=True)[1] == b""
    assert cut(rest, at_end=True) == ([], b"")


class Writer:
    """The other half of a connection to somebody, or to nobody any more."""

    def __init__(self, peer: tuple[str, int] | None) -> None:
        self.peer = peer
        self.is_closed = False

    def get_extra_info(self, _: str) -> tuple[str, int] | None:
        return self.peer

    def close(self) -> None:
        self.is_closed = True


@pytest.mark.parametrize("error", [TimeoutError(110, "timed out"), OSError(113, "no route"), ssl.SSLError(1, "broken")])
@pytest.mark.parametrize("peer", [("127.0.0.1", 1), None])
def test_a_connection_that_breaks_ends_quietly(served, error, peer):
    """One that timed out is not one that is silent: it would say so again at once, for ever."""
    options = next(options for options in served.listening.listeners if options.type == "tcp")

    async def connected() -> tuple[bool, int]:
        listener, reader, writer = TcpListener(options, served.listening.intake), asyncio.StreamReader(), Writer(peer)
        asyncio.get_running_loop().call_later(0.01, reader.set_exception, error)
        await listener._connected(reader, writer)
        return writer.is_closed, len(listener.connections)

    assert asyncio.run_coroutine_threadsafe(connected(), served.loop).result(10) == (True, 0)
