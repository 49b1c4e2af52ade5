"""Functions that expressions may call: pure but for the clock, the environment and `file`."""

from __future__ import annotations

import json
import os.path
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

from tailrace.config.values import Value, called, shown

_MAX_TEXT = 1 << 20
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([KMGT]i?)?B?", re.IGNORECASE)
_DURATION = re.compile(r"(\d+(?:\.\d+)?)(ns|us|µs|ms|w|d|h|m|s)")
_SECONDS = {
    "ns": 1e-9,
    "us": 1e-6,
    "µs": 1e-6,
    "ms": 1e-3,
    "s": 1,
    "m": 60,
    "h": 3600,
    "d": 86400,
    "w": 604800,
}
_VERB = re.compile(r"%([-+0 ]*)(\d{0,3})(?:\.(\d{1,3}))?([%a-zA-Z])")
_DATE_PART = re.compile(
    r"'((?:[^']|'')*)'|(YYYY|YY|M{1,4}|D{1,2}|EEEE|EEE|h{1,2}|H{1,2}|A{2}|a{2}|m{1,2}|s{1,2}|Z{1,5})|(.)",
    re.S,
)


@dataclass(frozen=True, slots=True)
class Surroundings:
    """All that an expression can see of the world."""

    now: datetime
    environ: Mapping[str, str]


def _text(value: Value) -> str:
    if not isinstance(value, str):
        raise ValueError(f"expected a text, found {called(value)}")
    return value


def _list(value: Value) -> list[Value]:
    if not isinstance(value, list):
        raise ValueError(f"expected a list, found {called(value)}")
    return value


def _map(value: Value) -> dict[str, Value]:
    if not isinstance(value, dict):
        raise ValueError(f"expected a map, found {called(value)}")
    return value


def _env(around: Surroundings, _: str, name: Value, default: Value = None) -> Value:
    found = around.environ.get(_text(name), default)
    if found is None:
        raise ValueError(f"the environment variable {name} is not set; a second argument is used in its place")
    return found


def _pathexpand(around: Surroundings, _: str, path: Value) -> Value:
    text = _text(path)
    home = around.environ.get("HOME") or os.path.expanduser("~")
    return home + text[1:] if text == "~" or text.startswith("~/") else text


def _file(around: Surroundings, directory: str, path: Value) -> Value:
    found = Path(directory, str(_pathexpand(around, directory, path)))
    try:
        if not found.is_file():
            raise ValueError(f"there is no file {found}; a path counts from the directory of the configuration file")
        with found.open("rb") as stream:
            data = stream.read(_MAX_TEXT + 1)
        if len(data) > _MAX_TEXT:
            raise ValueError(f"{found} is larger than {_MAX_TEXT} bytes")
        return data.decode()
    except OSError as error:
        raise ValueError(f"cannot read {found}: {error.strerror}") from None


def _moment(value: Value) -> datetime:
    try:
        moment = datetime.fromisoformat(_text(value))
    except ValueError:
        raise ValueError(f"'{value}' is not a time; write it as 2024-01-31T15:04:05Z") from None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _rfc3339(moment: datetime) -> str:
    return moment.replace(microsecond=0).isoformat().replace("+00:00", "Z")


def _timestamp(around: Surroundings, _: str) -> Value:
    now = around.now
    return _rfc3339(now.astimezone(UTC) if now.tzinfo else now.replace(tzinfo=UTC))


def size(text: str) -> int:
    """`512MB` or `2GiB` in bytes."""
    found = _SIZE.fullmatch(text)
    if found is None:
        raise ValueError(f"'{text}' is not a size; write it as 512MB or 2GiB")
    unit = (found[2] or "").upper()
    return int(float(found[1]) * (1024 if unit.endswith("I") else 1000) ** " KMGT".index(unit[:1] or " "))


def duration(text: str) -> timedelta:
    """`168h`, `-1h30m`, `-365d` → a span of time; raises ValueError."""
    sign, rest = (-1, text[1:]) if text.startswith("-") else (1, text.removeprefix("+"))
    if not rest or _DURATION.sub("", rest):
        raise ValueError(f"'{text}' is not a duration; write it as 90s, 15m, 168h, 7d or 2w")
    try:
        return sign * timedelta(seconds=sum(float(n) * _SECONDS[unit] for n, unit in _DURATION.findall(rest)))
    except OverflowError:
        raise ValueError(f"'{text}' is too long a time") from None


def _timeadd(around: Surroundings, _: str, moment: Value, span: Value) -> Value:
    return _rfc3339(_moment(moment) + duration(_text(span)))


def _formatdate(around: Surroundings, _: str, pattern: Value, moment: Value) -> Value:
    when = _moment(moment)

    def part(match: re.Match[str]) -> str:
        quoted, token, other = match.groups()
        if quoted is not None:
            return quoted.replace("''", "'")
        if token is not None:
            return _date_part(token, when)
        if other.isalpha():
            raise ValueError(f"'{other}' has no meaning in a date pattern; put plain letters between single quotes")
        return other

    return _DATE_PART.sub(part, _text(pattern))


def _date_part(token: str, when: datetime) -> str:
    if token in ("YYYY", "YY"):
        return f"{when.year:04d}"[-len(token) :]
    if token in ("MMM", "MMMM", "EEE", "EEEE"):
        return when.strftime({"MMM": "%b", "MMMM": "%B", "EEE": "%a", "EEEE": "%A"}[token])
    if token in ("AA", "aa"):
        half = "AM" if when.hour < 12 else "PM"
        return half if token == "AA" else half.lower()
    if token[0] == "Z":
        offset = (when.utcoffset() or timedelta()).total_seconds()
        zone = datetime(2000, 1, 1, tzinfo=timezone(timedelta(seconds=offset)))
        utc = {"Z": "Z", "ZZZ": "UTC"}.get(token)
        if not offset and utc:
            return utc
        return zone.strftime("%z") if token in ("ZZZ", "ZZZZ") else zone.isoformat()[-6:]
    numbers = {"M": when.month, "D": when.day, "h": when.hour, "H": (when.hour + 11) % 12 + 1}
    number = (numbers | {"m": when.minute, "s": when.second})[token[0]]
    return f"{number:0{len(token)}d}"


def _jsonencode(around: Surroundings, _: str, value: Value) -> Value:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def _jsondecode(around: Surroundings, _: str, text: Value) -> Value:
    try:
        value: Value = json.loads(_text(text))
        json.dumps(value, allow_nan=False, ensure_ascii=False).encode()
    except json.JSONDecodeError as error:
        raise ValueError(f"not JSON: {error}") from None
    return value


def _format(around: Surroundings, _: str, pattern: Value, *values: Value) -> Value:
    rest = list(values)

    def verb(match: re.Match[str]) -> str:
        flags, width, precision, kind = match.groups()
        if kind == "%":
            return "%"
        if not rest:
            raise ValueError(f"'{match[0]}' has no value to show")
        value = rest.pop(0)
        spec = f"%{flags}{width}" + (f".{precision}" if precision else "")
        if kind in "sv":
            return (spec + "s") % (shown(value) if not isinstance(value, (list, dict)) else json.dumps(value))
        if kind == "q":
            return json.dumps(shown(value), ensure_ascii=False)
        if kind in "dxXof" and isinstance(value, (int, float)):
            return str((spec + kind) % (value if kind == "f" else int(value)))
        raise ValueError(f"'{match[0]}' cannot show {called(value)}")

    text = _VERB.sub(verb, _text(pattern))
    if rest:
        raise ValueError(f"{len(rest)} more values than the pattern has places for")
    return text


def _concat(around: Surroundings, _: str, *lists: Value) -> Value:
    return [item for part in lists for item in _list(part)]


def _join(around: Surroundings, _: str, separator: Value, *lists: Value) -> Value:
    items = [shown(item) for part in lists for item in _list(part)]
    if len(_text(separator)) * len(items) > _MAX_TEXT:
        raise ValueError(f"the result is longer than {_MAX_TEXT} letters")
    return _text(separator).join(items)


def _split(around: Surroundings, _: str, separator: Value, text: Value) -> Value:
    return list(_text(text).split(_text(separator))) if separator else list(_text(text))


def _replace(around: Surroundings, _: str, text: Value, part: Value, by: Value) -> Value:
    old, new = _text(part), _text(by)
    if not old:
        raise ValueError("the text to replace is empty")
    if _text(text).count(old) * len(new) > _MAX_TEXT:
        raise ValueError(f"the result is longer than {_MAX_TEXT} letters")
    return _text(text).replace(old, new)


def _coalesce(around: Surroundings, _: str, *values: Value) -> Value:
    for value in values:
        if value is not None and value != "":
            return value
    raise ValueError("all arguments are null or empty")


def _lookup(around: Surroundings, _: str, given: Value, key: Value, default: Value = None) -> Value:
    found = _map(given).get(_text(key), default)
    if found is None:
        raise ValueError(f"the map has no key '{key}'; a third argument is used in its place")
    return found


def _merge(around: Surroundings, _: str, *maps: Value) -> Value:
    return {key: value for part in maps for key, value in _map(part).items()}


Function = Callable[..., Value]
"Called with the surroundings, the directory of the file, and the arguments."

_MANY = 1000
FUNCTIONS: dict[str, tuple[Function, int, int]] = {
    "env": (_env, 1, 2),
    "file": (_file, 1, 1),
    "pathexpand": (_pathexpand, 1, 1),
    "timestamp": (_timestamp, 0, 0),
    "timeadd": (_timeadd, 2, 2),
    "formatdate": (_formatdate, 2, 2),
    "jsonencode": (_jsonencode, 1, 1),
    "jsondecode": (_jsondecode, 1, 1),
    "concat": (_concat, 0, _MANY),
    "format": (_format, 1, _MANY),
    "join": (_join, 2, _MANY),
    "split": (_split, 2, 2),
    "replace": (_replace, 3, 3),
    "lower": (lambda around, _, text: _text(text).lower(), 1, 1),
    "upper": (lambda around, _, text: _text(text).upper(), 1, 1),
    "coalesce": (_coalesce, 1, _MANY),
    "lookup": (_lookup, 2, 3),
    "merge": (_merge, 0, _MANY),
}
"Name → function, least and most arguments."
SIGNATURES = {
    "env": "env(name, default)",
    "file": "file(path)",
    "pathexpand": "pathexpand(path)",
    "timestamp": "timestamp()",
    "timeadd": "timeadd(time, duration)",
    "formatdate": "formatdate(pattern, time)",
    "jsonencode": "jsonencode(value)",
    "jsondecode": "jsondecode(text)",
    "concat": "concat(list, …)",
    "format": "format(pattern, value, …)",
    "join": "join(separator, list, …)",
    "split": "split(separator, text)",
    "replace": "replace(text, part, by)",
    "lower": "lower(text)",
    "upper": "upper(text)",
    "coalesce": "coalesce(value, …)",
    "lookup": "lookup(map, key, default)",
    "merge": "merge(map, …)",
}
"How each is called."
