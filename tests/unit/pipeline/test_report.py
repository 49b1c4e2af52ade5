"""What a collection tells of a partition."""

from __future__ import annotations

import json

from tailrace.core import SourceError
from tailrace.pipeline.job import Counts
from tailrace.pipeline.report import PartitionReport, Trouble


def test_a_report_is_clean_until_something_goes_wrong() -> None:
    report = PartitionReport("t.p")
    assert report.clean
    report.troubles.append(Trouble("/a", "denied"))
    assert not report.clean
    assert not PartitionReport("t.p", error=SourceError("gone")).clean


def test_a_report_as_json() -> None:
    report = PartitionReport("t.p", discovered=5, unchanged=1, done=4, failed=1, partial=1, seconds=1.23456)
    report.counts.add(Counts(received=10, stored=6, filtered=1, out_of_range=1, quarantined=2))
    report.counts.add(Counts(received=1, stored=1, flagged=1))
    report.troubles.append(Trouble("/a", "denied", "source.denied", "chmod it"))
    told = json.loads(json.dumps(report.as_dict()))
    assert told["artifacts"]["collected"] + told["artifacts"]["failed"] + told["artifacts"]["unchanged"] == 5
    rows = told["rows"]
    assert rows.pop("received") == sum(rows.values()) - rows["flagged"] == 11
    assert told["troubles"] == [{"where": "/a", "message": "denied", "code": "source.denied", "hint": "chmod it"}]
    assert (told["error"], told["seconds"]) == (None, 1.235)


def test_an_error_is_told_with_its_code_and_place() -> None:
    report = PartitionReport("t.p", error=SourceError("cannot be listed", code="source.gone", where="/logs"))
    assert report.as_dict()["error"] == {"code": "source.gone", "message": "/logs: cannot be listed"}
