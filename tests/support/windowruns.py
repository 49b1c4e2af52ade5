"""Windows run in this process or one of their own, at a time of the test's choosing: `windowruns.py ROOT NOW`."""

from __future__ import annotations

import os
import sys
from collections import Counter
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import forked
from forked import Forked
from otaptables import START
from otlprequests import Told, told_by_proto
from windowqueries import PASS_THROUGH

from tailrace.lake.place import LocalPlace
from tailrace.windows.catalog import Catalog
from tailrace.windows.delivery import Endpoint
from tailrace.windows.run import Places, WindowRun, locked
from tailrace.windows.sampling import Sampling
from tailrace.windows.sources import Source
from tailrace.windows.spec import Temporal, WindowSpec

MINUTE = 60_000_000_000
MARGIN = 12 * MINUTE
SPEC = WindowSpec(
    name="minutes", base=LocalPlace("/nowhere"), out=LocalPlace("/nowhere"), form="otlp_proto", query=PASS_THROUGH,
    temporal=Temporal(MINUTE, MARGIN), start_at="earliest", late_files="drop", keep_undated=True, sentinels=True,
    strict=False, unpartitioned=False, sampling=Sampling(), sample_size=100, batch_size=65_535, check_interval=30.0,
)  # fmt: skip


def spec_at(root: Path, **changes: object) -> WindowSpec:
    places = {"base": LocalPlace(str(root / "in")), "out": LocalPlace(str(root / "out"))}
    return replace(SPEC, **(places | changes))


def places(root: Path) -> Places:
    return Places(LocalPlace(str(root / "state")))


def run(root: Path, now: int = START + 1_000 * MINUTE, **changes: object) -> WindowRun:
    """All windows that are ready by then."""
    with locked(places(root), "minutes"):
        made = WindowRun(spec_at(root, **changes), places(root))
        made.run(now)
    return made


def sources_of(spec: WindowSpec, state: Path) -> list[Source]:
    """All files of logs, each with those of its attributes."""
    with closing(Catalog(spec, LocalPlace(str(state)))) as catalog:
        catalog.look()
        return list(catalog.sources(list(catalog.files)).values())


def results(root: Path) -> dict[str, bytes]:
    """What has been published, by name."""
    return {path.name: path.read_bytes() for path in sorted((root / "out").glob("window=*"))}


def told(root: Path) -> Told:
    """Every log that came out."""
    return sum((told_by_proto(body) for body in results(root).values()), Counter())


def started(root: Path, now: int, **env: str) -> Forked:
    """A run in a process of its own."""
    return forked.started(__file__, str(root), str(now), **env)


if __name__ == "__main__":
    address = os.environ.get("ENDPOINT")
    endpoint = None if address is None else Endpoint(address, (("x-token", "t"),))
    run(Path(sys.argv[1]), int(sys.argv[2]), endpoint=endpoint)
