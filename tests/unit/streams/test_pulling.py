"""Snapshots by pull: what a service was asked for is spooled once, whatever happens in between."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from apiserver import ApiServer, Reply
from apiserver import serving as answering
from liveserver import serving
from livesink import Sink

from tailrace.config.load import load_texts
from tailrace.config.places import Text
from tailrace.core.errors import ConfigError
from tailrace.streams import segments
from tailrace.streams.decode import decode
from tailrace.streams.intake import Intake
from tailrace.streams.pull_settings import PullOptions, pulls
from tailrace.streams.pulling import Puller
from tailrace.streams.records import Record
from tailrace.streams.settings import sinks
from tailrace.streams.spool import Spool, SpoolLimits

REPOS = [
    {"id": 1, "full_name": "a/b", "stars": 7, "source": "mine", "timestamp": "later"},
    {"id": 2, "full_name": "a/c"},
]
CONFIG = """
source "http" "github" {{
  url          = "{url}"
  schedule     = "5m"
  sinks        = [sink.parquet.p]
  entity       = "full_name"
  workspace_id = 42
  max_retries  = 0
  {more}
}}
listener "syslog" "s" {{ port = 0 }}
sink "parquet" "p" {{ path = "p" }}
sink "parquet" "other" {{ path = "other" }}
"""


def configured(url: str, more: str = "") -> list[PullOptions]:
    return pulls(loaded(CONFIG.format(url=url, more=more)))


def loaded(text: str):
    return load_texts([Text("x.tpc", text.encode(), "/")], now=datetime(2024, 1, 1), environ={})


class Pulls:
    """A puller that is turned by hand."""

    def __init__(self, root: Path, url: str, more: str = "", **limits: int) -> None:
        self.root = root
        self.spool = Spool(root / "spool", SpoolLimits(**({"reserve": 0} | limits)))
        self.said: list[str] = []
        (options,) = configured(url, more)
        self.puller = Puller(options, Intake(self.spool), root / "pulls", self.said.append)

    def spooled(self) -> list[Record]:
        self.spool.close()
        root = self.spool.root
        numbers = segments.numbers(root, segments.CLOSED)
        return [r for number in numbers for r in segments.read(segments.path_of(root, number, segments.CLOSED))]


@contextmanager
def service(*answers: object) -> Iterator[ApiServer]:
    left = list(answers)
    with answering(lambda request: Reply(left.pop(0) if len(left) > 1 else left[0])) as api:
        yield api


def test_records_become_snapshots_as_they_were_given(tmp_path):
    with service(REPOS) as api:
        one = Pulls(tmp_path, api.url)
        before = int(time.time()) * 1000
        one.puller.turn()
        records = one.spooled()
    rows = decode(records).table("snapshots").to_pylist()
    assert [(row["source"], row["entity"], row["workspace_id"]) for row in rows] == [
        ("github", "a/b", 42), ("github", "a/c", 42),
    ]  # fmt: skip
    assert [json.loads(row["payload"]) for row in rows] == REPOS
    assert all(before <= row["timestamp"] <= row["batch_timestamp"] for row in rows)
    sink = Sink(tmp_path)
    sink.send(*records)
    (name,) = sink.tree()
    assert name.endswith("/snapshots.parquet")
    assert len(sink.rows(name)) == 2


def test_each_round_asks_for_what_came_since_the_last_one_also_after_a_restart(tmp_path):
    more = 'params = { since = "{from}", until = "{to}" }\n time_format = "epoch"\n time_field = "at"'
    moment = int(time.time()) - 10
    with service([{"id": 1, "at": moment}]) as api:
        first = Pulls(tmp_path, api.url, more)
        first.puller.turn()
        (record,) = first.spooled()
        assert decode([record]).table("snapshots")["timestamp"].to_pylist() == [moment * 1000]
        again = Pulls(tmp_path, api.url, more)
        assert 290 < again.puller.pause(time.time() * 1000) <= 300
        again.puller.turn()
        again.spooled()
        asked = [(int(request.params["since"]), int(request.params["until"])) for request in api.requests]
    assert asked[0][1] - asked[0][0] == 300
    assert asked[1][0] == asked[0][1]


KILLS = ("before it is spooled", "before it is noted", "before it is forgotten")


@pytest.mark.parametrize("kill", KILLS)
def test_killed_anywhere_every_answer_is_spooled_once(tmp_path, monkeypatch, kill):
    with service(REPOS, [{"id": 3}]) as api:
        first = Pulls(tmp_path, api.url)
        with monkeypatch.context() as patched:
            if kill == KILLS[0]:
                patched.setattr(Puller, "_spooled", killed)
            elif kill == KILLS[1]:
                patched.setattr(Puller, "_finish", killed)
            else:
                patched.setattr(Path, "unlink", killed)
            with pytest.raises(KeyboardInterrupt):
                first.puller.turn()
        first.spool.close()
        # Long after: the spool forgets what it has once it runs, and not before.
        second = Pulls(tmp_path, api.url, window=0)
        if kill == KILLS[0]:
            assert second.puller.pause(time.time() * 1000) == 0.5
            second.puller.turn()
        assert second.puller.pause(time.time() * 1000) > 200
        assert len(api.requests) == 1
        rows = decode(second.spooled()).table("snapshots").to_pylist()
    assert [row["entity"] for row in rows] == ["a/b", "a/c"]


def killed(*_: object, **__: object) -> None:
    raise KeyboardInterrupt


def test_failures_are_told_and_tried_again_after_growing_pauses(tmp_path):
    with answering(lambda request: Reply(status=500)) as api:
        one = Pulls(tmp_path, api.url)
        pauses = []
        for _ in range(8):
            one.puller.turn()
            pauses.append(one.puller.pause(0))
        assert pauses == [5, 10, 20, 40, 80, 160, 300, 300]
        api.answer = lambda request: Reply([])
        one.puller.turn()
    assert "500" in one.said[0]
    assert "asked again in 5 s" in one.said[0]
    assert one.puller.intake.counts["pull_errors", "source.http.github"] == 8
    assert one.puller.pause(time.time() * 1000) > 200
    assert one.spooled() == []


def test_a_service_that_is_away_for_long_is_asked_all_the_same(tmp_path):
    with answering(lambda request: Reply(status=500)) as api:
        one = Pulls(tmp_path, api.url)
        one.puller.failures = 5000
        one.puller.turn()
        assert (one.puller.failures, one.puller.pause(0)) == (5001, 300)
    one.spool.close()


def test_what_is_left_of_a_round_is_noted_when_it_ends(tmp_path):
    """Whoever goes on may do so when the spool has long forgotten what it was given."""
    with service(REPOS) as api, pytest.MonkeyPatch.context() as small:
        small.setattr("tailrace.streams.pulled_lines.MOST", 1)
        one = Pulls(tmp_path, api.url)
        real = one.puller._spooled
        small.setattr(one.puller, "_spooled", lambda moment, body: b"a/b" in body and real(moment, body))
        one.puller.turn()
        one.spool.close()
        for path in one.spool.root.glob("*.batches"):
            path.unlink()
        again = Pulls(tmp_path, api.url)
        again.puller.turn()
        rows = decode(again.spooled()).table("snapshots").to_pylist()
    assert [row["entity"] for row in rows] == ["a/b", "a/c"]
    assert len(api.requests) == 1


def test_a_full_spool_is_waited_for(tmp_path):
    with service(REPOS) as api:
        one = Pulls(tmp_path, api.url, high_mark=0)
        one.puller.start()
        while not one.puller.intake.counts["backpressure", "source.http.github"]:
            time.sleep(0.01)
        one.puller.end()
        one.puller.ended()
        one.spool.close()
        again = Pulls(tmp_path, api.url)
        again.puller.turn()
        assert len(again.spooled()) == len(api.requests) == 1


def test_it_runs_beside_listeners(tmp_path):
    config = CONFIG.replace("{url}", "{http}")
    with service(REPOS) as api, serving(tmp_path, config, http=api.url, more="") as served:
        deadline = time.monotonic() + 20
        while not served.count("pulls") and time.monotonic() < deadline:
            time.sleep(0.01)
        assert [row["entity"] for row in served.rows("snapshots")] == ["a/b", "a/c"]


def test_sinks_get_what_names_them():
    config = loaded(CONFIG.format(url="http://x", more=""))
    takes = {options.name: options.listeners for options in sinks(config, Path("/"))}
    assert takes["p"] in (None, frozenset({"syslog.s", "source.http.github"}))
    assert takes["other"] == frozenset({"syslog.s"})


WRONG = {
    "no sinks": ("sinks        = [sink.parquet.p]", "", "belong together"),
    "no schedule": ('schedule     = "5m"', "", "belong together"),
    "too often": ('schedule     = "5m"', 'schedule = "10ms"', "too short"),
    "no such sink": ("sink.parquet.p]", "sink.parquet.q]", "q"),
    "a sink that is not in use": ('path = "p"', 'path = "p"\n enabled = false\n', "takes snapshots"),
    "no address": ('"http://x"', '"x"', "must be an http"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_told_with_its_place(name):
    before, after, message = WRONG[name]
    with pytest.raises(ConfigError, match=message) as refused:
        pulls(loaded(CONFIG.format(url="http://x", more="").replace(before, after)))
    assert "x.tpc:" in str(refused.value)


def test_a_partition_has_no_schedule():
    text = 'partition "syslog" "x" {\n source "http" {\n url = "http://x"\n schedule = "5m"\n }\n}'
    with pytest.raises(ConfigError, match="has no 'schedule'"):
        pulls(loaded(text))


def test_the_examples_of_the_documentation_are_understood():
    text = Path(__file__).parents[3].joinpath("docs", "snapshots.md").read_text()
    blocks = text.split("```hcl\n")[1:]
    config = loaded("\n".join(block.partition("```")[0] for block in blocks))
    found = {one.name: one for one in pulls(config)}
    assert set(found) == {"github", "stripe", "linear"}
    assert found["github"].schedule == timedelta(minutes=15)
    assert {one.source.api.paging.how for one in found.values()} == {"link", "cursor", "none"}
