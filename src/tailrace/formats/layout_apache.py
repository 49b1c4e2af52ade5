"""Directives of Apache's `LogFormat` → the fields of apache_access_log."""

from __future__ import annotations

import re
from typing import NamedTuple

CLF_TIME = "%d/%b/%Y:%H:%M:%S %z"


class ApacheField(NamedTuple):
    """What a directive writes."""

    name: str
    kind: str = "bare"
    time: str | None = None


_PLAIN = {
    "a": "remote_addr",
    "A": "local_addr",
    "b": "body_bytes_sent",
    "B": "body_bytes_sent",
    "D": "request_time_us",
    "f": "filename",
    "h": "remote_addr",
    "H": "server_protocol",
    "k": "keepalive_requests",
    "l": "remote_logname",
    "L": "request_log_id",
    "m": "request_method",
    "p": "server_port",
    "P": "pid",
    "q": "query_string",
    "r": "request",
    "R": "handler",
    "s": "status",
    "S": "bytes_transferred",
    "T": "request_time",
    "u": "remote_user",
    "U": "request_uri",
    "v": "server_name",
    "V": "server_name",
    "X": "connection_status",
    "I": "bytes_received",
    "O": "bytes_sent",
}
_MODIFIED = {
    ("c", "a"): "remote_addr",
    ("c", "h"): "remote_addr",
    ("canonical", "p"): "server_port",
    ("local", "p"): "apache_port",
    ("remote", "p"): "client_port",
    ("pid", "P"): "pid",
    ("tid", "P"): "thread_id",
    ("hextid", "P"): "hex_thread_id",
    ("s", "T"): "request_time",
    ("ms", "T"): "request_time_ms",
    ("us", "T"): "request_time_us",
}
# Headers, variables, notes and cookies without a column: kept under a name that says where they come from.
_FAMILIES = {
    "i": "http_",
    "o": "sent_http_",
    "e": "env_",
    "n": "note_",
    "C": "cookie_",
    "x": "",
    "c": "ssl_",
    "^ti": "trailer_",
    "^to": "sent_trailer_",
}
_SPACED = frozenset("rfUq") | _FAMILIES.keys() - {"x", "c"}
_EPOCHS = {"sec": "epoch_s", "msec": "epoch_ms", "usec": "epoch_us"}
_FRACTIONS = {"msec_frac": "%g", "usec_frac": "%f"}
_TWO_TIMES = re.compile(r"%\{([^}]*)\}t([.,: ]?)%\{([^}]*)\}t")
_SHORT_CODES = {"%T": "%H:%M:%S", "%F": "%Y-%m-%d", "%D": "%m/%d/%y", "%R": "%H:%M", "%e": "%d", "%h": "%b"}


def apache_field(modifier: str | None, directive: str) -> ApacheField | None:
    """`%{modifier}directive`, or None if there is no such directive."""
    if directive == "t":
        return ApacheField("timestamp", "bracketed", CLF_TIME) if modifier is None else _time(modifier)
    kind = "spaced" if directive in _SPACED else "address" if directive in "ah" else "bare"
    if modifier is None:
        return ApacheField(_PLAIN[directive], kind) if directive in _PLAIN else None
    if (modifier, directive) in _MODIFIED:
        return ApacheField(_MODIFIED[modifier, directive], kind)
    if directive in _FAMILIES and modifier:
        return ApacheField(_FAMILIES[directive] + re.sub(r"\W", "_", modifier.lower()), kind)
    return None


def joined_times(text: str) -> str:
    """One time written by several directives, as with `[%{%d/%b/%Y:%T}t.%{msec_frac}t %{%z}t]`, as one of them."""
    while (joined := _TWO_TIMES.sub(_one_time, text)) != text:
        text = joined
    return text


def _one_time(two: re.Match[str]) -> str:
    first, between, second = two.groups()
    second = second.removeprefix("begin:").removeprefix("end:")
    if first.endswith("sec"):  # an epoch, which may have a fraction
        return f"%{{{first}}}t"
    return f"%{{{first}{between}{_FRACTIONS.get(second, second)}}}t"


def _time(modifier: str) -> ApacheField | None:
    """`%{…}t`: epochs, or a strftime pattern."""
    pattern = modifier.removeprefix("begin:").removeprefix("end:")
    if pattern in _EPOCHS:
        return ApacheField("timestamp", "bare", _EPOCHS[pattern])
    if pattern in _FRACTIONS:
        return ApacheField(f"time_{pattern}")
    if "%" not in pattern:
        return None
    for short, long in _SHORT_CODES.items():
        pattern = pattern.replace(short, long)
    return ApacheField("timestamp", "spaced" if " " in pattern else "bare", pattern)
