"""Trying out a connection: who we are, and whether what sources name can be listed."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from tailrace.clouds.settings import Settings
from tailrace.config.model import ConnectionSpec, SourceSpec
from tailrace.core import SourceError
from tailrace.sources import make_source


@dataclass(frozen=True, slots=True)
class Answer:
    """What a service said."""

    what: str
    said: str
    ok: bool


@runtime_checkable
class Tries(Protocol):
    """A source that can be tried without collecting from it."""

    def reachable(self) -> Iterator[tuple[str, str | None]]:
        """Places, and what is wrong with each."""
        ...


def try_connection(connection: ConnectionSpec, sources: Iterable[SourceSpec]) -> Iterator[Answer]:
    """One answer for the identity, where the service tells it, and one for each place that a source names."""
    if connection.type == "aws" and importlib.util.find_spec("boto3"):
        yield _aws_identity(connection)
    asked: set[str] = set()
    for spec in sources:
        source = make_source(spec.kind, spec.args, connection, spec.locations)
        if not isinstance(source, Tries):
            yield Answer(f"source {spec.name}", f"{spec.kind} is tried by collecting from it", True)
            continue
        for place, problem in source.reachable():
            if place not in asked:
                asked.add(place)
                yield Answer(place, problem or "can be listed", problem is None)


def _aws_identity(connection: ConnectionSpec) -> Answer:
    from tailrace.clouds.aws import identity

    try:
        return Answer("identity", identity(Settings.of(connection, "aws")), True)
    except SourceError as error:
        return Answer("identity", error.message, False)
