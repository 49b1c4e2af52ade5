"""Requests of OpenTelemetry with very many records are rows a part at a time."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest
from otlpwrite import resource_logs

from tailrace.streams import otlp_logs
from tailrace.streams.otlp_logs import otlp_rows


@pytest.mark.parametrize("whole", [False, True])
def test_many_records_are_taken_in_parts_and_stay_in_order(whole: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Else ten million bytes of records that say nothing took six thousand million."""
    sizes: list[int] = []
    real = otlp_logs._columns

    def counted(rows: Sequence[dict[str, object]], received_at: int, *, whole: bool) -> Any:
        sizes.append(len(rows))
        return real(rows, received_at, whole=whole)

    monkeypatch.setattr(otlp_logs, "_TOGETHER", 100)
    monkeypatch.setattr(otlp_logs, "_columns", counted)
    found = otlp_rows(resource_logs({}, "s", [{"body": str(number)} for number in range(250)]), 7, whole=whole)
    assert sizes == [100, 100, 50]
    told = [json.loads(document)["message"] for document in found.columns["document"].to_pylist()]
    assert told == [str(number) for number in range(250)]
    assert {len(column) for column in found.columns.values()} == {250}
    assert not found.bad


def test_a_request_without_records_has_no_rows() -> None:
    found = otlp_rows(resource_logs({}, "s", []), 7)
    assert {len(column) for column in found.columns.values()} == {0}
