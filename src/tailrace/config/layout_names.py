"""Names that a `file_layout` captures and that were probably meant to tell the date of a path."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from tailrace.config.inside import character_place
from tailrace.config.places import Report
from tailrace.config.values import Setting
from tailrace.core.registry import nearest

_TOKEN = re.compile(r"%\{(\w+):(\w+)[^}]*\}")
_GROUP = re.compile(r"\(\?P?<(\w+)>")
_MEANT = {
    "YEAR": "year", "MONTH": "month", "MONTHNUM": "month", "MONTHNUM2": "month", "MONTHDAY": "day", "HOUR": "hour",
}  # fmt: skip
"Patterns of dates, and the names under which they are understood."
_NUMBERS = ("INT", "POSINT", "NONNEGINT", "NUMBER", "BASE10NUM")
_NEEDS = {"month": "year", "day": "month"}


def warn_of_names(layout: str, patterns: Mapping[str, object], setting: Setting, report: Report) -> None:
    """Notes them at their characters: a path whose date is not understood is read whatever `--from` says."""
    for at, message, hint in _odd_names(layout, patterns):
        where = setting.where
        if report.outline.find_text(layout, where) == where:
            where = character_place(report.outline.texts[where.file], where, at)
        report.warn(where, f"file_layout: {message}", "layout-name", hint)


def _odd_names(layout: str, patterns: Mapping[str, object]) -> Iterator[tuple[int, str, str]]:
    """Where in the layout, what is odd about it, and what to write."""
    tokens = {token[2]: token for token in _TOKEN.finditer(layout)}
    inner = "".join(map(str, patterns.values()))
    names = {*tokens, *_GROUP.findall(layout + inner), *(token[2] for token in _TOKEN.finditer(inner))}
    told = set()
    for name, token in tokens.items():
        meant = _MEANT.get(token[1]) or (nearest(name, _MEANT.values()) if token[1] in _NUMBERS else None)
        if meant is not None and meant not in names and token[1] not in patterns:
            told.add(meant)
            hint = f"write %{{{token[1]}:{meant}}}, or %{{{token[1]}}} where no date is meant"
            yield token.start(2), f"'{name}' says nothing about the date", hint
    for name in _NEEDS.keys() & tokens.keys():
        if _NEEDS[name] not in names | told:
            yield tokens[name].start(2), f"'{name}' without '{_NEEDS[name]}' is no date", f"capture {_NEEDS[name]} too"
