"""How keys and values are written: each dialect marks them in a whole column of texts at once."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

Mask = npt.NDArray[np.bool_]
Texts = dict[str, pa.Array]
_ESCAPES = {"n": "\n", "r": "\r", "t": "\t"}
_KNOWN_ESCAPE = re.compile(r'\\([\\=|"\]nr])')
_HEADS = ("version", "device_vendor", "device_product", "device_version")


@dataclass(frozen=True, slots=True)
class Opened:
    """Lines taken apart: fields that every line has, and the text that holds the pairs."""

    ok: Mask
    head: Texts
    "Of all lines, null where a line is not ok."
    body: pa.Array


@dataclass(frozen=True, slots=True)
class Dialect:
    """One way to write keys and values."""

    opened: Callable[[pa.StringArray], Opened]
    marked: Callable[[pa.Array, str, str], pa.Array]
    "The body with a sign between key and value and another one before each key."
    plain: Callable[[pa.Array], pa.Array]
    "Values without their quotes and escapes."
    heads: tuple[str, ...] = ()
    "Fields of the head."
    alike: dict[str, str] = field(default_factory=dict)
    "Keys that another dialect calls otherwise: for tables that know only those names."


# logfmt: a=1 b="x y" flag

_LOGFMT_PAIR = r'([^\s="]+)(=?)("(?:[^"\\]|\\.)*"|[^\s"]\S*|)(?:[ \t]+|$)'
_LOGFMT = rf"^[ \t]*(?:{_LOGFMT_PAIR.replace('(', '(?:').replace('(?:?:', '(?:')})+$"


def _logfmt_opened(lines: pa.StringArray) -> Opened:
    fits = pc.and_(pc.match_substring_regex(lines, _LOGFMT), pc.match_substring_regex(lines, r'[^\s="]='))
    return Opened(_bools(fits), {}, lines)


def _logfmt_marked(body: pa.Array, pair: str, value: str) -> pa.Array:
    return pc.replace_substring_regex(body, _LOGFMT_PAIR, rf"{pair}\1{value}\2\3")


def _logfmt_plain(values: pa.Array) -> pa.Array:
    """A key alone is true; quotes go, escapes are those of JSON."""
    alone = pc.equal(values, "")
    values = pc.if_else(alone, "true", pc.utf8_slice_codeunits(values, 1))
    inside = pc.starts_with(values, '"')
    if not pc.any(inside).as_py():
        return values
    values = pc.if_else(inside, pc.utf8_slice_codeunits(values, 1, -1), values)
    return _each(values, pc.and_(inside, pc.match_substring(values, "\\")), _json_text)


def _json_text(text: str) -> str:
    try:
        return msgspec.json.decode(f'"{text}"', type=str)
    except (msgspec.DecodeError, UnicodeError):
        return re.sub(r"\\(.)", lambda found: _ESCAPES.get(found[1], found[1]), text)


# LTSV: host:192.0.2.1<tab>status:200


def _ltsv_opened(lines: pa.StringArray) -> Opened:
    return Opened(_bools(pc.match_substring_regex(lines, r"^[\w.-]+:[^\t]*(?:\t[\w.-]+:[^\t]*)*$")), {}, lines)


def _ltsv_marked(body: pa.Array, pair: str, value: str) -> pa.Array:
    return pc.replace_substring_regex(body, r"(?:^|\t)([\w.-]+):", rf"{pair}\1{value}")


def _as_is(values: pa.Array) -> pa.Array:
    return values


# CEF:0|vendor|product|version|class|name|severity|src=192.0.2.1 msg=two words

_PART = r"((?:[^|\\]|\\.)*)"
_CEF = rf"^(?P<prefix>.*?)CEF: ?(?P<version>\d+(?:\.\d+)?)\|{(_PART + chr(92) + '|') * 6}(?P<body>.*)$"
_CEF_NAMES = (*_HEADS, "device_event_class_id", "name", "severity")


def _named(pattern: str, names: tuple[str, ...]) -> str:
    for name in names:
        pattern = pattern.replace("((?:", f"(?P<{name}>(?:", 1)
    return pattern


_CEF_LINE = _named(_CEF, _CEF_NAMES[1:])


def _cef_opened(lines: pa.StringArray) -> Opened:
    return _headed(lines, _CEF_LINE, _CEF_NAMES)


def _cef_marked(body: pa.Array, pair: str, value: str) -> pa.Array:
    return pc.replace_substring_regex(body, r"(?:^|[ \t]+)([\w.,\[\]-]+)=", rf"{pair}\1{value}")


def _cef_plain(values: pa.Array) -> pa.Array:
    return _each(pc.utf8_rtrim(values, " \t"), pc.match_substring(values, "\\"), _unescaped)


def _unescaped(text: str) -> str:
    return _KNOWN_ESCAPE.sub(lambda found: _ESCAPES.get(found[1], found[1]), text)


# LEEF:1.0|vendor|product|version|event|key=value<tab>key=value; LEEF 2.0 may name another character for the tab

_LEEF_NAMES = (*_HEADS, "device_event_class_id")
_LEEF_AS_CEF = {
    "devTime": "rt", "sev": "severity", "action": "act", "usrName": "suser", "srcPort": "spt", "dstPort": "dpt",
    "srcMAC": "smac", "dstMAC": "dmac", "srcBytes": "in", "dstBytes": "out", "url": "request",
}  # fmt: skip
_LEEF = (
    rf"^(?P<prefix>.*?)LEEF: ?(?P<version>\d\.\d)\|{(_PART + chr(92) + '|') * 4}"
    r"(?:(?P<separator>[^\s\w|=]|0?x[0-9A-Fa-f]{1,4}|)\|)?(?P<body>.*)$"
)
_LEEF_LINE = _named(_LEEF, _LEEF_NAMES[1:])


def _leef_opened(lines: pa.StringArray) -> Opened:
    opened = _headed(lines, _LEEF_LINE, (*_LEEF_NAMES, "separator"))
    named = opened.head.pop("separator")
    body = opened.body
    for sign in pc.unique(named).to_pylist():
        if sign:  # each separator is made a tab, of which its lines then have no other meaning
            mine = pc.equal(named, sign)
            char = sign if len(sign) == 1 else chr(int(sign.lower().rpartition("x")[2], 16))
            body = pc.if_else(mine, pc.replace_substring(body, char, "\t"), body)
    return Opened(opened.ok, opened.head, body)


def _leef_marked(body: pa.Array, pair: str, value: str) -> pa.Array:
    return pc.replace_substring_regex(body, r"(?:^|\t)[ ]*([^\s=]+)=", rf"{pair}\1{value}")


def _headed(lines: pa.StringArray, pattern: str, names: tuple[str, ...]) -> Opened:
    found = pc.extract_regex(lines, pattern)
    parts = dict(zip([field.name for field in found.type], found.flatten(), strict=True))
    head = {name: parts[name] for name in (*names, "prefix")}
    for name in names:
        head[name] = _each(head[name], pc.match_substring(head[name], "\\"), _unescaped)
    return Opened(_bools(found.is_valid()), head, parts["body"])


def _each(values: pa.Array, which: pa.Array, change: Callable[[str], str]) -> pa.Array:
    """Changes some texts one by one: those few that hold what has a meaning of its own."""
    which = which.fill_null(False)
    if not pc.any(which).as_py():
        return values
    changed = [change(text) for text in values.filter(which).to_pylist()]
    return pc.replace_with_mask(values, which, pa.array(changed, pa.string()))


def _bools(values: pa.Array) -> Mask:
    mask: Mask = values.to_numpy(zero_copy_only=False)
    return mask


DIALECTS = {
    "logfmt": Dialect(_logfmt_opened, _logfmt_marked, _logfmt_plain),
    "ltsv": Dialect(_ltsv_opened, _ltsv_marked, _as_is),
    "cef": Dialect(_cef_opened, _cef_marked, _cef_plain, _CEF_NAMES),
    "leef": Dialect(_leef_opened, _leef_marked, _as_is, _LEEF_NAMES, _LEEF_AS_CEF),
}
