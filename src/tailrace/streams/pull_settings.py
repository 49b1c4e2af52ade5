"""`source "http"` blocks with a `schedule` → what is asked for again and again, and who gets it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from tailrace.config import Config, Reference
from tailrace.config.functions import duration
from tailrace.config.model import OtherBlock, SourceSpec
from tailrace.core.errors import ConfigError
from tailrace.sources import http
from tailrace.sources.api import ApiSource
from tailrace.sources.base import Given


@dataclass(frozen=True, slots=True)
class PullOptions:
    """A service that is asked for snapshots."""

    name: str
    source: ApiSource
    schedule: timedelta
    entity: str = "id"
    time_field: str = ""
    workspace: int = 1

    @property
    def id(self) -> str:
        """As records of the spool name it."""
        return f"source.{http.KIND}.{self.name}"


def pulls(config: Config) -> list[PullOptions]:
    """All of them."""
    top = {source.where for source in config.sources}
    for partition in config.partitions:
        for source in partition.sources:
            if source.where not in top and "schedule" in source.args:
                raise _wrong(source, "a source of a partition has no 'schedule'", "write it outside of the partition")
    used = [block for block in config.of("sink") if block.args.get("enabled", True) and block.type != "otap"]
    known = {f"{block.type}.{block.name}" for block in used}
    return [_pull(source, known) for source in scheduled(config)]


def scheduled(config: Config) -> list[SourceSpec]:
    """Sources that feed sinks."""
    return [
        source for source in config.sources if source.kind == http.KIND and {"schedule", "sinks"} & set(source.args)
    ]


def pull_id(source: SourceSpec) -> str:
    return f"source.{source.kind}.{source.name}"


def sinks_of(block: OtherBlock | SourceSpec) -> set[str]:
    """The sinks that it names; empty = it names none."""
    return named_by(block.args.get("sinks"))


def named_by(references: object) -> set[str]:
    """`listener.http.public` is `http.public`."""
    given = references if isinstance(references, tuple | list) else ()
    return {".".join(one.path[1:]) if isinstance(one, Reference) else str(one) for one in given}


def _pull(source: SourceSpec, known: set[str]) -> PullOptions:
    args = source.args
    if "schedule" not in args or not sinks_of(source):
        raise _wrong(source, "'schedule' and 'sinks' belong together", 'write schedule = "5m" and sinks = [sink.…]')
    if missing := sinks_of(source) - known:
        raise _wrong(source, f"no sink {min(missing)} takes snapshots", "name one that is configured and in use")
    schedule = duration(str(args["schedule"]))
    if schedule < timedelta(seconds=1):
        raise _wrong(source, "'schedule' is too short", "write a second or more")
    workspace = args.get("workspace_id", 1)
    try:
        asked = http.make(Given(args, source.connection, source.locations))
    except ConfigError as error:
        raise ConfigError(error.message, code=error.code, where=str(source.where), hint=error.hint) from None
    return PullOptions(
        source.name,
        asked,
        schedule,
        str(args.get("entity", "id")),
        str(args.get("time_field", "")),
        int(workspace) if isinstance(workspace, int | float) else 1,
    )


def _wrong(source: SourceSpec, message: str, hint: str) -> ConfigError:
    return ConfigError(message, code="serve.schedule", where=str(source.where), hint=hint)
