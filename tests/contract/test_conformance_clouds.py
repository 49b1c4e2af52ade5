"""JSON logs of other clouds and tools: what was stored, and which fields are equal to what others read in them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from conformance import Expected, Measured, measure
from world import World

Event = dict[str, Any]


@dataclass(frozen=True)
class Case:
    """A data set, the table it is read into, and who says what has to come of it."""

    table: str
    dataset: str
    expected: Callable[[list[Path]], Expected]
    bad: int = 0


def events(paths: list[Path]) -> Iterator[Event]:
    """Values one after another, as Python's own reader finds them."""
    for path in paths:
        text = path.read_text(encoding="utf-8-sig").strip()
        at = 0
        while at < len(text):
            value, end = json.JSONDecoder().raw_decode(text, at)
            yield from value if isinstance(value, list) else [value]
            at = end + len(text[end:]) - len(text[end:].lstrip())


def at(event: Event, *keys: str) -> Any:
    value: Any = event
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value


# Kubernetes


def kubernetes(paths: list[Path]) -> Expected:
    return [audit_event(event) for event in events(paths) if event.get("kind") == "Event"]


def aks(paths: list[Path]) -> Expected:
    found: Expected = []
    for event in events(paths):
        for record in event.get("records", [event]):
            inner = at(record, "properties", "log")
            found.append(audit_event(json.loads(inner) if inner else record))
    return found


def audit_event(event: Event) -> Event:
    return {
        "audit_id": event["auditID"],
        "verb": event["verb"],
        "request_uri": event["requestURI"],
        "user.username": at(event, "user", "username"),
        "user.groups": at(event, "user", "groups"),
        "impersonated_user.username": at(event, "impersonatedUser", "username"),
        "source_ips": event["sourceIPs"],
        "user_agent": event.get("userAgent"),
        "object_ref.resource": at(event, "objectRef", "resource"),
        "object_ref.name": at(event, "objectRef", "name"),
        "response_status.code": at(event, "responseStatus", "code"),
        "annotations ->> '$.\"authorization.k8s.io/reason\"'": at(event, "annotations", "authorization.k8s.io/reason"),
    }


CASES = [
    Case("kubernetes_audit_log", "k8saudit-falco/*.json", kubernetes, bad=1),
    Case("kubernetes_audit_log", "k8saudit-audit2rbac/demo.log", kubernetes),
    Case("kubernetes_audit_log", "k8saudit-sysdig-aks/*.json", aks),
]


def measured(case: Case, data: Path, world: World) -> Measured:
    paths = sorted(data.glob(case.dataset))
    assert paths, case.dataset
    return measure(world, case.table, data, case.dataset, expected=case.expected(paths), bad=case.bad)


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.table}-{case.dataset}")
def test_rows_are_what_the_records_say(case: Case, real_logs: Path, world: World) -> None:
    found = measured(case, real_logs, world)
    assert found.compared
    found.check()
    assert found.quarantined == case.bad
