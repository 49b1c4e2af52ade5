"""Objects over a line that breaks: bytes are whole, or the error says what happened."""

from __future__ import annotations

import random
import time

import pytest
from bucketserver import BucketServer, serving
from objectsources import EVER, s3_source

from tailrace.core import Artifact, SourceError
from tailrace.sources import Source, is_transient, object_reader
from tailrace.sources.ahead import Ahead

DATA = random.Random(7).randbytes(9 * 1024 * 1024)


@pytest.fixture(autouse=True)
def _short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(object_reader, "_LONGEST_PAUSE", 0.05)


def only(source: Source) -> Artifact:
    (artifact,) = (item for item in source.discover(EVER) if isinstance(item, Artifact))
    return artifact


def patient(server: BucketServer) -> Source:
    return s3_source(server.url, max_error_retry_attempts=1, min_error_retry_delay=1)


@pytest.mark.parametrize(
    "faults",
    [
        [("cut", 5_000_000)],
        [("cut", 0), ("cut", 4_500_000), ("cut", 10)],
        [("short", 6_000_000)],
        [503, ("cut", 5_000_000), 500, 500, 500],
    ],
)  # fmt: skip
@pytest.mark.parametrize("weak", [False, True])
def test_a_cut_connection_is_taken_up_where_it_broke(faults: list[int | tuple[str, int]], weak: bool) -> None:
    with serving(BucketServer({"big.log": DATA}, faults={"big.log": [*faults]}, weak=weak)) as server:
        source = patient(server)
        with source.open(only(source)) as opened:
            assert b"".join(iter(lambda: opened.read(1_000_000), b"")) == DATA
    resumed = [headers for key, _, headers in server.requests if key and "range" in headers]
    assert resumed


def test_a_line_that_never_holds_is_given_up() -> None:
    with serving(BucketServer({"big.log": DATA}, faults={"big.log": [("cut", 100)] * 50})) as server:
        source = patient(server)
        artifact = only(source)
        with source.open(artifact) as opened, pytest.raises(SourceError) as raised:
            opened.read()
    assert is_transient(raised.value)
    assert raised.value.where == "big.log"


def test_an_object_that_changes_while_it_is_read_is_not_mixed_up() -> None:
    with serving(BucketServer({"big.log": DATA}, faults={"big.log": [("cut", 5_000_000)]})) as server:
        source = patient(server)
        with source.open(only(source)) as opened:
            opened.read(10)
            server.objects["big.log"] = DATA[::-1]
            with pytest.raises(SourceError, match="changed while it was read") as raised:
                opened.read()
    assert is_transient(raised.value)


@pytest.mark.parametrize(
    ("status", "code", "words"),
    [
        (403, "source.denied", "access denied (403, AccessDenied)"),
        (404, "source.gone", "no such object"),
        (500, "source.io", "the server answered (500, Trouble)"),
    ],
)  # fmt: skip
def test_errors_have_codes_and_tell_no_secret(status: int, code: str, words: str) -> None:
    with serving(BucketServer({"a.log": b"x"})) as server:
        source = patient(server)
        artifact = only(source)
        server.faults["a.log"] = [status] * 50
        with pytest.raises(SourceError) as raised:
            source.open(artifact)
    assert raised.value.code == code
    assert words in str(raised.value)
    assert "AKIDTEST" not in str(raised.value)
    assert raised.value.__cause__ is None


def test_a_server_that_is_not_there() -> None:
    source = s3_source("http://127.0.0.1:9", max_error_retry_attempts=1, min_error_retry_delay=1)
    (found,) = source.discover(EVER)
    assert "the server cannot be reached" in str(found)


def test_small_objects_are_fetched_ahead() -> None:
    """At least five times as fast as one after another, over a line where every answer takes 20 ms."""
    objects = {f"{n:03}.log": b"%03d\n" % n for n in range(160)}
    with serving(BucketServer(objects, delay=0.02)) as server:
        source = s3_source(server.url)
        artifacts = [item for item in source.discover(EVER) if isinstance(item, Artifact)]
        began = time.perf_counter()
        single = [source.open(artifact).read() for artifact in artifacts]
        between = time.perf_counter()
        ahead = Ahead([source], artifacts, [0] * len(artifacts))
        together = [ahead.open(number).read() for number in range(len(artifacts))]
        ended = time.perf_counter()
        ahead.close()
    assert together == single == list(objects.values())
    assert len(server.gets()) == 2 * len(objects)
    assert (between - began) / (ended - between) >= 5


def test_a_missing_object_is_told_at_its_turn() -> None:
    with serving(BucketServer({f"{n}.log": b"x" for n in range(5)})) as server:
        source = s3_source(server.url)
        artifacts = [item for item in source.discover(EVER) if isinstance(item, Artifact)]
        del server.objects["2.log"]
        ahead = Ahead([source], artifacts, [0] * 5)
        assert [ahead.open(n).read() for n in (0, 1)] == [b"x", b"x"]
        with pytest.raises(SourceError, match="no such object"):
            ahead.open(2)
        assert ahead.open(4).read() == b"x"
        ahead.close()
