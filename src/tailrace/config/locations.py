"""Where the objects of a remote source lie: container, prefix and pattern, however they were written."""

from __future__ import annotations

import re
from collections.abc import Mapping

from tailrace.config.model import Location
from tailrace.config.places import Report
from tailrace.config.values import Setting, Settings, Value

_SCHEMES = {"aws_s3_bucket": ("s3",), "gcp_storage_bucket": ("gs", "gcs", "gcp")}
_WILD = re.compile(r"[*?\[]")


def locations(kind: str, values: Mapping[str, Value], settings: Settings, report: Report) -> tuple[Location, ...]:
    """What a source of that kind reads; none where the kind has no such thing."""
    if kind in _SCHEMES and "paths" in values:
        _not_both(settings, "paths", ("bucket", "prefix"), report)
        found = [_of_url(path, _SCHEMES[kind], settings["paths"], report) for path in _texts(values["paths"])]
        return tuple(location for location in found if location is not None)
    if kind == "aws_cloudwatch_log_group":
        return _of_group(values, settings, report)
    container = values.get("bucket") or values.get("container")
    if not isinstance(container, str):
        return ()
    account = values.get("account_name")
    return (Location(f"{account}/{container}" if account else container, str(values.get("prefix", "")), "*"),)


def _of_url(path: str, schemes: tuple[str, ...], setting: Setting, report: Report) -> Location | None:
    found = re.fullmatch(rf"(?:{'|'.join(schemes)})://([^/]+)(?:/(.*))?", path, re.DOTALL)
    if found is None or _WILD.search(found[1]):
        hint = f"write {schemes[0]}://bucket/prefix/*"
        report.error(setting.where, f"'{path}' names no bucket", "bad-path", hint)
        return None
    key = found[2] or ""
    wild = _WILD.search(key)
    if wild is None:
        return Location(found[1], key, f"{key}*")
    return Location(found[1], key[: wild.start()], key)


def _of_group(values: Mapping[str, Value], settings: Settings, report: Report) -> tuple[Location, ...]:
    if "log_streams" not in values:
        group = values.get("log_group_name")
        names = _texts(values.get("log_stream_names", ("*",)))
        return tuple(_stream(group, name) for name in names) if isinstance(group, str) else ()
    _not_both(settings, "log_streams", ("log_group_name", "log_stream_names"), report)
    found = []
    for path in _texts(values["log_streams"]):
        group, slash, name = path.rpartition("/")
        if slash and group and name:
            found.append(_stream(group, name))
        else:
            report.error(settings["log_streams"].where, f"'{path}' names no stream", "bad-path", "write group/stream_*")
    return tuple(found)


def _stream(group: str, name: str) -> Location:
    wild = _WILD.search(name)
    return Location(group, name[: wild.start()] if wild else name, name)


def _not_both(settings: Settings, name: str, others: tuple[str, ...], report: Report) -> None:
    for other in others:
        if other in settings:
            where = settings[other].name_where
            report.error(where, f"'{other}' is already said by '{name}'", "contradiction", "keep one of them")


def _texts(value: Value) -> tuple[str, ...]:
    return value if isinstance(value, tuple) else ()
