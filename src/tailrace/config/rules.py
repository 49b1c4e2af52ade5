"""What attributes of one block have to do with each other."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import date, timedelta

from tailrace.config.attributes import moment
from tailrace.config.declare_live import TEMPORAL
from tailrace.config.functions import duration
from tailrace.config.model import OtherBlock
from tailrace.config.places import Report, Where
from tailrace.config.values import Settings, Value

OLD_COLUMNS = {
    "tp_collection": "tp_partition",
    "tp_connection": "tp_index",
    "tp_year": "tp_date",
    "tp_month": "tp_date",
    "tp_day": "tp_date",
}
"Earlier names of shared columns, taken in `where` and `partition_by`."
_LARGEST_SAMPLE = 99_999
_START = ("earliest", "now")


def check_rules(spec: OtherBlock, settings: Settings, report: Report) -> OtherBlock:
    """The block, in its plainest form; what contradicts itself is in the report."""
    rule = _RULES.get(spec.kind)
    return rule(spec, _Places(spec, settings), report) if rule else spec


class _Places:
    """Where attributes stand; those of a block or map inside are found at it."""

    def __init__(self, spec: OtherBlock, settings: Settings) -> None:
        self.spec = spec
        self.settings = settings

    def __getitem__(self, name: str) -> Where:
        if name in self.settings:
            return self.settings[name].where
        return next((inner.where for inner in self.spec.blocks if name in inner.args), self.spec.where)


def _tier(spec: OtherBlock, places: _Places, report: Report) -> OtherBlock:
    args = spec.args
    if "max_age" in args and args.keys() & {"from", "to"}:
        hint = "a tier holds days by age or by range"
        report.error(places["max_age"], "'max_age' and a range cannot both be set", "contradiction", hint)
    _in_order(args, "from", "to", places, report)
    known = ["tp_table", "tp_partition", "tp_index", "tp_date", *OLD_COLUMNS]
    columns = args.get("partition_by", ())
    for column in columns if isinstance(columns, tuple) else ():
        if column not in known:
            report.unknown(places["partition_by"], "column", str(column), known)
    return spec


def _schema(spec: OtherBlock, places: _Places, report: Report) -> OtherBlock:
    # Both mean whole days.
    _in_order(spec.args, "start_date", "end_date", places, report, lambda text: moment(text).date())
    return spec


def _in_order(
    args: Mapping[str, Value],
    first: str,
    last: str,
    places: _Places,
    report: Report,
    meaning: Callable[[str], date] = moment,
) -> None:
    start, end = args.get(first), args.get(last)
    if isinstance(start, str) and isinstance(end, str) and meaning(start) > meaning(end):
        message = f"'{last}' ({end}) is before '{first}' ({start})"
        report.error(places[last], message, "contradiction", "exchange them")


def _window(spec: OtherBlock, places: _Places, report: Report) -> OtherBlock:
    spec = _times_gathered(spec, places, report)
    args = spec.args
    if args.get("query") is not None and not str(args["query"]).strip():
        report.error(places["query"], "'query' is empty", "wrong-value", "leave it out to let everything pass")
    length, *waits = (_span(args, name) for name in list(TEMPORAL)[:4])
    if not length:
        message = "'window_granularity' must be longer than nothing"
        report.error(places["window_granularity"], message, "wrong-value", 'write window_granularity = "1m"')
    delay, drift, file = waits
    if delay < drift:
        hint = "events may come as late as clocks differ"
        report.error(
            places["processing_delay"], "'processing_delay' is less than 'max_clock_drift'", "wrong-value", hint
        )
    margin = args.get("safety_margin")
    if isinstance(margin, str) and duration(margin) != delay + drift + file:
        total = f"{int((delay + drift + file).total_seconds())}s"
        message = f"'safety_margin' must be processing_delay + max_clock_drift + max_file_duration = {total}"
        report.error(places["safety_margin"], message, "contradiction", "leave it out; it is that sum")
    start = args.get("start_at")
    if isinstance(start, str) and start not in _START:
        try:
            moment(start)
        except ValueError:
            hint = f"write {' or '.join(_START)}, or a time such as 2024-01-31T15:04:05Z"
            report.error(places["start_at"], f"'{start}' is no time to start at", "bad-time", hint)
    size = next((inner.args["sample_size"] for inner in spec.blocks if "sample_size" in inner.args), 1)
    if isinstance(size, int) and size > _LARGEST_SAMPLE:
        message = f"'sample_size' must be a whole number up to {_LARGEST_SAMPLE}"
        report.error(places["sample_size"], message, "wrong-value", "write sample_size = 100")
    return spec


def _times_gathered(spec: OtherBlock, places: _Places, report: Report) -> OtherBlock:
    """`temporal { … }` says what may also stand in the window itself."""
    args = dict(spec.args)
    for inner in spec.blocks:
        for name in inner.args if inner.kind == "temporal" else ():
            if name in args:
                report.error(places[name], f"'{name}' is also set in temporal", "contradiction", "keep one of them")
            args[name] = inner.args[name]
    return replace(spec, args=args, blocks=tuple(inner for inner in spec.blocks if inner.kind != "temporal"))


def _span(args: Mapping[str, Value], name: str) -> timedelta:
    return duration(str(args.get(name, TEMPORAL[name].default)))


def _sample(spec: OtherBlock, places: _Places, report: Report) -> OtherBlock:
    rate = spec.args.get("rate")
    if spec.type == "sample" and isinstance(rate, (int, float)) and not 0 < rate <= 1:
        message = f"'rate' must be between 0 and 1, not {rate:g}"
        report.error(places["rate"], message, "wrong-value", "write rate = 0.1 for a tenth")
    return spec


_RULES: Mapping[str, Callable[[OtherBlock, _Places, Report], OtherBlock]] = {
    "tier": _tier,
    "schema": _schema,
    "window": _window,
    "transform": _sample,
}
