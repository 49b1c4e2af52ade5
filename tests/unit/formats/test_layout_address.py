"""`address:port` in one word comes out as two columns, whatever the address."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tailrace.formats.layout_address import AddressPort, split_address

CLIENT = AddressPort("client", ("ip", "port"))


def split(text: str | None) -> tuple[str | None, str | None, str | None]:
    found = split_address(pa.array([text], pa.string()), CLIENT, "-")
    return found["ip"][0].as_py(), found["port"][0].as_py(), found["client"][0].as_py()


@pytest.mark.parametrize(
    ("text", "ip", "port", "rest"),
    [
        ("192.0.2.1:80", "192.0.2.1", "80", None),
        ("[2001:db8::1]:443", "2001:db8::1", "443", None),
        ("2001:db8::1:443", "2001:db8::1", "443", None),
        ("example.com:8080", "example.com", "8080", None),
        ("192.0.2.1", "192.0.2.1", None, None),
        ("[2001:db8::1]", "2001:db8::1", None, None),
        ("192.0.2.1:-", "192.0.2.1", None, None),
        ("-", None, None, None),
        (None, None, None, None),
        ("", None, None, None),
        ("192.0.2.1:http", None, None, "192.0.2.1:http"),
        ("<none>:80:x", None, None, "<none>:80:x"),
    ],
)
def test_addresses_and_ports(text: str | None, ip: str | None, port: str | None, rest: str | None) -> None:
    assert split(text) == (ip, port, rest)


@given(st.one_of(st.ip_addresses(v=4), st.ip_addresses(v=6)), st.integers(0, 65535), st.booleans())
def test_what_is_written_is_read(address: object, port: int, bracketed: bool) -> None:
    text = f"[{address}]:{port}" if bracketed else f"{address}:{port}"
    assert split(text) == (str(address), str(port), None)


@given(st.text())
def test_no_text_is_lost(text: str) -> None:
    ip, port, rest = split(text)
    assert (ip, port, rest) != (None, None, None) or text in ("", "-", "[-]:-") or text.strip("[]:-") == ""
    assert rest in (None, text)
