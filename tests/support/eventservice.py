"""A service of events, one a minute, that pages in every way and knows what it was asked."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from apiserver import ApiServer, Reply, Request, serving

Event = dict[str, Any]
START = datetime(2026, 3, 1, 9)


def events(count: int, start: datetime = START, step: timedelta = timedelta(minutes=1)) -> list[Event]:
    return [{"id": n, "time": f"{start + n * step:%Y-%m-%dT%H:%M:%S.000Z}", "user": f"u{n % 3}"} for n in range(count)]


@dataclass
class EventService:
    """`/events?since&until` in pages of `size`, by the paging that the path names: `/events/cursor`."""

    held: list[Event] = field(default_factory=list)
    size: int = 20
    by_time: bool = True

    def answer(self, request: Request) -> Reply:
        asked = request.params | ({k: str(v) for k, v in request.json().items()} if request.body else {})
        found = self._found(asked)
        how = request.path.rpartition("/")[2]
        if how == "none":
            return Reply(found)
        at = int(asked.get("at") or 0)
        if how == "page":
            at = (int(asked["page"]) - 1) * self.size
        page, rest = found[at : at + self.size], found[at + self.size :]
        following = at + self.size
        if how == "link":
            query = "&".join(f"{k}={v}" for k, v in request.params.items() if k != "at")
            link = f'</events/link?{query}&at=0>; rel="first", </events/link?{query}&at={following}>; rel="next"'
            return Reply(page, headers={"Link": link} if rest else {})
        meta = {"next": following if rest else None, "url": f"/events/url?at={following}" if rest else ""}
        return Reply({"data": {"events": page}, "meta": meta})

    def _found(self, asked: dict[str, str]) -> list[Event]:
        if not self.by_time:
            return sorted(self.held, key=lambda e: e["time"], reverse=True)
        since, until = asked.get("since", ""), asked.get("until", "~")
        return [e for e in self.held if since <= e["time"].replace(".000", "") < until]


@contextmanager
def event_service(count: int = 150, **how: Any) -> Iterator[tuple[EventService, ApiServer]]:
    service = EventService(events(count), **how)
    with serving(service.answer) as api:
        yield service, api
