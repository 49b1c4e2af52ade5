"""Product events: what was stored, and which fields are equal to what others read in them."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from cases import Case, Event, at, events, measured
from conformance import PYTHON, Expected
from world import World

SNOWPLOW_FIELDS = 131
BATCH = "snowplow-rdb-loader/transformer-batch/src/test/resources"
STREAM = "snowplow-rdb-loader/common-transformer-stream/src/test/resources/processing-spec"


def segment(paths: list[Path]) -> Expected:
    """Test data of a product: some messages have no time at all, and cannot be stored."""
    told = ("messageId", "type", "userId", "anonymousId", "event", "name", "channel", "previousId", "groupId")
    found: Expected = []
    for event in events(paths):
        if any(is_time(event.get(key)) for key in ("timestamp", "originalTimestamp", "receivedAt", "sentAt")):
            row = {re.sub("([A-Z])", r"_\1", key).lower(): as_text(event.get(key)) for key in told}
            row["context.ip"] = as_text(at(event, "context", "ip"))
            row["context.user_agent"] = as_text(at(event, "context", "userAgent"))
            row["context.page.url"] = as_text(at(event, "context", "page", "url"))
            row["context.library.name"] = as_text(at(event, "context", "library", "name"))
            found.append(row)
    return found


def is_time(value: Any) -> bool:
    try:
        datetime.fromisoformat(value)
    except (TypeError, ValueError):
        return False
    return True


def as_text(value: Any) -> str | None:
    return value if value is None or isinstance(value, str) else json.dumps(value)


# Snowplow


def widerows(output: str) -> Callable[[list[Path]], Expected]:
    """What Snowplow's own loader makes of the lines, in the order of the lines."""

    def expected(paths: list[Path]) -> Expected:
        (given,) = paths
        loaded = {event["event_id"]: event for event in events([given.parent / output])}
        lines = [line.split("\t") for line in given.read_text().splitlines()]
        return [flat(loaded[line[6]]) for line in lines if len(line) == SNOWPLOW_FIELDS]

    return expected


def flat(event: Event) -> Event:
    """Without self-describing JSON, which the loader spreads over columns of its own."""
    kept = {key: value for key, value in event.items() if not key.startswith(("contexts", "unstruct", "derived_con"))}
    for key, value in kept.items():
        if key.endswith("_tstamp") and value is not None:
            kept[key] = datetime.fromisoformat(value).replace(tzinfo=None)
    return kept


def tabs(paths: list[Path]) -> Expected:
    """The fields that are text, as they stand between the tabs."""
    places = {"platform": 1, "event": 5, "event_id": 6, "v_tracker": 9, "user_ipaddress": 13, "page_url": 29}
    lines = [line.split("\t") for path in paths for line in path.read_text().splitlines()]
    rows = [line for line in lines if len(line) == SNOWPLOW_FIELDS]
    return [{column: line[place] or None for column, place in places.items()} for line in rows]


CASES = [
    Case("segment_event", "events-rudder-mit/segment_spec_messages.ndjson", segment, bad=127, reader=PYTHON),
    Case("segment_event", "events-jitsu/**/test_data/segment_function_*_event_input.json", segment, reader=PYTHON),
    Case("snowplow_event", f"{BATCH}/widerow/json/input-events", widerows("output-widerows"), bad=2),
    Case("snowplow_event", f"{STREAM}/1/input/events", widerows("../output/good/widerow/events"), bad=1),
    *(Case("snowplow_event", f"{STREAM}/{n}/input/*", tabs, bad, PYTHON) for n, bad in ((2, 0), (3, 2), (4, 2))),
    *(Case("snowplow_event", f"{STREAM}/{n}/input/*", tabs, reader=PYTHON) for n in (5, 6, 7)),
    Case("snowplow_event", f"{BATCH}/widerow/parquet/input-events", tabs, bad=2, reader=PYTHON),
    Case("snowplow_event", f"{BATCH}/widerow/parquet/events_with_corrupted_migrations", tabs, reader=PYTHON),
    Case("snowplow_event", f"{BATCH}/widerow/parquet/input-events-custom-*", tabs, reader=PYTHON),
    Case("snowplow_event", f"{BATCH}/invalidtimestamp/input-events", tabs, reader=PYTHON),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.table}-{case.dataset}")
def test_rows_are_what_the_records_say(case: Case, real_logs: Path, world: World) -> None:
    found = measured(case, real_logs, world)
    assert found.compared
    found.check()
    assert found.quarantined == case.bad
