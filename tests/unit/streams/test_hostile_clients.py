"""Clients that mean no good, or go on too long: they are refused and counted, and nobody else notices."""

from __future__ import annotations

import contextlib
import socket
import ssl
import threading
import time
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

import flatwrite as fw
import owntime
import pytest
from liveserver import EVENT, KEY, OTHER, serving

from tailrace.streams.rates import Rates

HEAD = f"POST /v1/events HTTP/1.1\r\nHost: x\r\nX-API-Key: {KEY}\r\n"


def answered(place: tuple[str, int], data: bytes, wait: float = 20) -> bytes:
    """What is said until the connection is closed."""
    found = b""
    with socket.create_connection(place, timeout=wait) as connection:
        connection.sendall(data)
        with contextlib.suppress(ConnectionResetError):
            while block := connection.recv(4096):
                found += block
    return found


def test_slow_clients_are_closed_and_others_served_meanwhile(tmp_path):
    with serving(tmp_path, http='request_timeout = "500ms"') as served:
        place = served.place("http.h")
        slow = [socket.create_connection(place, timeout=20) for _ in range(50)]
        for number, connection in enumerate(slow):
            connection.sendall(
                HEAD[: 10 + number].encode() if number % 2 else (HEAD + "Content-Length: 9\r\n\r\n{").encode()
            )
        assert served.post("/v1/events", EVENT)[0] == 202
        assert {connection.recv(4096)[9:12] for connection in slow} == {b"408"}
        for connection in slow:
            connection.close()
        assert len(served.rows("events")) == 1


def test_more_connections_than_allowed_are_refused_and_counted(tmp_path):
    with serving(tmp_path, tcp="max_connections = 5") as served:
        idle = [socket.create_connection(served.place("tcp.t"), timeout=20) for _ in range(5)]
        time.sleep(0.1)
        for _ in range(100):
            answered(served.place("tcp.t"), b"")
        assert served.count("connections_refused") == 100
        idle[0].sendall(fw.framed(fw.events([fw.event()])))
        for connection in idle:
            connection.shutdown(socket.SHUT_WR)
            connection.recv(1)
            connection.close()
        assert len(served.rows("events")) == 1


def test_an_address_leaves_connections_to_others(tmp_path):
    """Idle ones are no reason to refuse anybody else."""
    with serving(tmp_path, tcp="max_per_address = 3", http="max_per_address = 3") as served:
        for name in ("tcp.t", "http.h"):
            idle = [socket.create_connection(served.place(name), timeout=20) for _ in range(3)]
            time.sleep(0.1)
            said = answered(served.place(name), b"")
            assert said.startswith(b"HTTP/1.1 503" if name == "http.h" else b"")
            other = socket.create_connection(served.place(name), timeout=20, source_address=("127.0.0.2", 0))
            if name == "tcp.t":
                other.sendall(fw.framed(fw.events([fw.event()])))
                other.shutdown(socket.SHUT_WR)
                assert other.recv(1) == b""
            else:
                body = f"{HEAD}Content-Length: {len(EVENT)}\r\n\r\n".encode() + EVENT
                other.sendall(body)
                assert other.recv(4096).startswith(b"HTTP/1.1 202")
            for connection in (*idle, other):
                connection.close()
            # Whoever leaves makes room.
            time.sleep(0.2)
            again = socket.create_connection(served.place(name), timeout=20)
            again.settimeout(0.3)
            with pytest.raises(TimeoutError):
                again.recv(1)
            again.close()
        assert served.count("connections_refused") == 2
        assert len(served.rows("events")) == 2


def test_a_frame_that_does_not_come_to_its_end_is_given_up(tmp_path):
    whole = fw.framed(fw.events([fw.event()]))
    with serving(tmp_path, tcp='frame_timeout = "1s"') as served:
        with socket.create_connection(served.place("tcp.t"), timeout=20) as quiet:
            quiet.sendall(whole)
            with socket.create_connection(served.place("tcp.t"), timeout=20) as slow:
                began = time.monotonic()
                with contextlib.suppress(OSError):  # a byte now and then does not help
                    for sign in whole[:-1] * 10:
                        slow.sendall(bytes([sign]))
                        time.sleep(0.1)
                assert 0.9 < time.monotonic() - began < 10
            # A connection that only waits between frames stays.
            time.sleep(1.5)
            quiet.sendall(whole)
            quiet.shutdown(socket.SHUT_WR)
            assert quiet.recv(1) == b""
        assert served.count("messages_malformed") == 1
        assert len(served.rows("events")) == 2


def test_frames_without_an_end_take_no_more_than_their_share_of_memory(tmp_path, monkeypatch):
    monkeypatch.setattr("tailrace.streams.tcp_listener.HELD", 1 << 20)
    with serving(tmp_path) as served:
        large = [socket.create_connection(served.place("tcp.t"), timeout=20) for _ in range(8)]
        with socket.create_connection(served.place("tcp.t"), timeout=20) as small:
            small.sendall(fw.framed(fw.events([fw.event()]))[:-1])
            for connection in large:
                with contextlib.suppress(OSError):
                    connection.sendall((8 << 20).to_bytes(4) + bytes(600_000))
                time.sleep(0.1)
            small.sendall(fw.framed(fw.events([fw.event()]))[-1:])
            small.shutdown(socket.SHUT_WR)
            assert small.recv(1) == b""
            # One of them alone is not too much; the others were given up.
            assert served.count("messages_malformed") >= 6
        for connection in large:
            connection.close()
        assert len(served.rows("events")) == 1


def test_bodies_take_no_more_memory_than_there_is_room_for(tmp_path):
    body = f"{HEAD}Content-Length: 900000\r\n\r\n".encode() + b" " * 600_000
    with serving(tmp_path) as served:
        room = served.listening.intake.room
        room.most = 1_000_000
        with socket.create_connection(served.place("http.h"), timeout=20) as slow:
            slow.sendall(body)
            while room.held < 600_000:
                time.sleep(0.01)
            closing = body.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n", 1)
            assert answered(served.place("http.h"), closing)[9:12] == b"503"
            assert served.post("/v1/events", EVENT)[0] == 202
            slow.sendall(b" " * 299_990 + b'{"type":1}')
            assert slow.recv(4096)[9:12] == b"400"
        assert room.held == 0
        assert served.count("backpressure") == 1
        assert len(served.rows("events")) == 1


def test_one_key_may_not_take_the_place_of_others(tmp_path):
    with serving(tmp_path, http="rate_limit = 5") as served:
        statuses = [served.post("/v1/events", EVENT)[0] for _ in range(20)]
        wrong = [served.post("/v1/events", EVENT, Authorization="Bearer 0")[0] for _ in range(20)]
        assert served.post("/v1/events", EVENT, Authorization=f"Bearer {OTHER}")[0] == 202
        assert set(statuses) == {202, 429}
        assert set(wrong) == {401, 429}
        assert served.count("rate_limited") == statuses.count(429) + wrong.count(429)
        assert served.count("auth_failures") == wrong.count(401)
        assert len(served.rows("events")) == statuses.count(202) + 1


def test_an_address_that_sends_too_much_waits(tmp_path):
    with serving(tmp_path, tcp="rate_limit = 100", syslog="rate_limit = 50") as served:
        before = time.monotonic()
        with socket.create_connection(served.place("tcp.t"), timeout=20) as connection:
            for number in range(2):
                connection.sendall(fw.framed(*[fw.events([fw.event(number)])] * 65))
                time.sleep(0.05)
            connection.shutdown(socket.SHUT_WR)
            connection.recv(1)
        assert time.monotonic() - before > 0.3
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
            for number in range(150):
                sender.sendto(b"<13>message %d" % number, served.place("syslog.s/udp"))
        deadline = time.monotonic() + 20
        while served.count("messages_received") + served.count("rate_limited") < 280 and time.monotonic() < deadline:
            time.sleep(0.02)
        found = served.decoded()
        assert found.table("events").num_rows == 130
        assert 50 <= found.table("logs").num_rows < 150


def test_rates_forgive_and_forget(monkeypatch):
    now = [0.0]
    owntime.give(monkeypatch, "tailrace.streams.rates", monotonic=lambda: now[0])
    rates = Rates(2)
    assert [rates.allows("a") for _ in range(3)] == [True, True, False]
    assert rates.allows("b")
    now[0] = 0.5
    assert [rates.allows("a") for _ in range(2)] == [True, False]
    assert rates.wait("c", 6) == 2.0
    assert Rates(None).wait("c", 10**9) == 0.0
    for number in range(20_000):
        rates.allows(number)
    assert len(rates._left) <= 10_000


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of 127.0.0.1, signed by itself."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.x509.oid import NameOID

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "tailrace test")])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))]), False)
        .sign(key, hashes.SHA256())
    )
    root = tmp_path_factory.mktemp("tls")
    (root / "cert.pem").write_bytes(made.public_bytes(serialization.Encoding.PEM))
    plain = (serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    (root / "key.pem").write_bytes(key.private_bytes(*plain))
    return root


def test_tls_on_every_listener(tmp_path, certificate):
    tls = f'tls_cert = "{certificate}/cert.pem"\n tls_key = "{certificate}/key.pem"'
    context = ssl.create_default_context(cafile=str(certificate / "cert.pem"))

    def send(name: str, data: bytes) -> bytes:
        with (
            socket.create_connection(served.place(name), timeout=20) as plain,
            context.wrap_socket(plain, server_hostname="127.0.0.1") as connection,
        ):
            connection.sendall(data)
            if name != "http.h":
                connection.unwrap().close()
                return b""
            return connection.recv(4096)

    with serving(tmp_path, http=tls, tcp=tls, syslog=f'{tls}\nprotocol = "tcp"') as served:
        length = f"Content-Length: {len(EVENT)}\r\n\r\n"
        assert send("http.h", (HEAD + length).encode() + EVENT).startswith(b"HTTP/1.1 202")
        send("tcp.t", fw.framed(fw.events([fw.event(1)])))
        send("syslog.s", b"<13>Nov 14 22:13:20 host app: over TLS\n")
        # One who does not speak TLS harms nobody.
        for name in ("http.h", "tcp.t", "syslog.s"):
            answered(served.place(name), b"GET / HTTP/1.1\r\n\r\n")
        deadline = time.monotonic() + 20
        while served.count("messages_received") < 2 and time.monotonic() < deadline:
            time.sleep(0.02)
        found = served.decoded()
        assert found.table("events").num_rows == 2
        assert found.table("logs")["service"].to_pylist() == ["app"]


def test_a_flood_of_nonsense_leaves_the_server_up(tmp_path):
    with serving(tmp_path) as served:
        nonsense = [b"\xff" * 1000, b"\x00\x00\x00\x10" + b"x" * 16, b"GET / HTTP/1.1\r\n\r\n" * 100, b"A" * 100_000]

        def flood() -> None:
            for turn in range(25):
                for name in ("http.h", "tcp.t"):
                    with contextlib.suppress(OSError):
                        answered(served.place(name), nonsense[turn % 4], wait=1)

        threads = [threading.Thread(target=flood) for _ in range(4)]
        for thread in threads:
            thread.start()
        statuses = {served.post("/v1/events", EVENT)[0] for _ in range(20)}
        for thread in threads:
            thread.join()
        assert statuses == {202}
        assert served.get("/health").status == 200
        assert served.count("messages_malformed") >= 75
        assert len(served.rows("events")) == 20
