"""Transform `pattern`: what of a message is its template, and that it keeps it."""

from __future__ import annotations

import json

import flatwrite as fw
import pyarrow as pa
import pytest
from livesink import NOW, TODAY, Sink, chain, frames, lines

from tailrace.streams import records
from tailrace.streams.patterns import FILE, mask
from tailrace.streams.templates import Templates

MASKED = {
    "took 12.5ms for 3 rows": "took <*>ms for <*> rows",
    "user=17 from 10.0.0.7:443": "user=<*> from <*>",
    "peer fe80::1ff:fe23:4567:890a left": "peer <*> left",
    "card 00:1b:44:11:3a:b7 up": "card <*> up",
    "order 550e8400-e29b-41d4-a716-446655440000 paid": "order <*> paid",
    "mail to ann.b@example.org": "mail to <*>",
    "GET https://example.org/a?b=1 done": "GET <*> done",
    "open /var/log/app/x.log: denied": "open <*>: denied",
    "at 2024-01-15T12:00:00.123Z began": "at <*> began",
    "commit deadbeef12 at 0x7fff": "commit <*> at <*>",
    "either this and/or that": "either this and/or that",
}


@pytest.mark.parametrize("message", MASKED)
def test_what_is_variable_wherever_it_stands(message):
    assert mask(pa.array([message])).to_pylist() == [MASKED[message]]


def told(given: Templates, *messages: str) -> list[str]:
    return [one.text for one in given.of(messages)]


def test_words_that_differ_are_none_of_the_template():
    given = Templates()
    assert told(given, "user ann logged in", "user bob logged in", "disk full") == [
        "user <*> logged in", "user <*> logged in", "disk full",
    ]  # fmt: skip
    (ann,), (eve,) = given.of(["user ann logged in"]), given.of(["user eve logged in"])
    assert ann.id == eve.id
    # Another first word, or another number of words, is another template.
    assert told(given, "admin ann logged in", "user ann logged in twice") == [
        "admin ann logged in", "user ann logged in twice",
    ]  # fmt: skip


def test_how_much_must_be_equal_is_said():
    strict = Templates(least=0.9)
    assert told(strict, "a b c d", "a b c e") == ["a b c d", "a b c e"]


def test_a_message_keeps_its_template_when_nearer_ones_come():
    given = Templates()
    (first,) = given.of(["a b c d"])
    given.of(["a b x y"])
    given.of(["a z c d"])
    given._known.clear()
    assert given.of(["a b c d"])[0].id == first.id


def test_there_are_never_more_than_allowed():
    given = Templates(most=3, branches=2)
    for number in range(50):
        given.of([f"{chr(97 + number % 26)}{number} x"])
    assert len(given._all) == 3
    assert len(given._known) <= 4
    assert len(given._leaves) == 3  # two first words, and all the others


def test_they_outlive_the_process_and_are_shared(tmp_path):
    file = tmp_path / FILE
    mine, other = Templates(file=file), Templates(file=file)
    (ann,) = mine.of(["user ann logged in"])
    (bob,) = other.of(["user bob logged in"])
    assert (ann.id, bob.text) == (bob.id, "user <*> logged in")
    mine.of(["something new"])
    assert mine.of(["user ann logged in"])[0].text == "user <*> logged in"
    with file.open("ab") as torn:
        torn.write(b'{"id":"0123')
    (eve,) = Templates(file=file).of(["user eve logged in"])
    (again,) = Templates(file=file).of(["something new"])
    assert (eve.id, again.text) == (ann.id, "something new")


def test_rows_say_their_pattern(tmp_path):
    rules = chain('transform "pattern" { }')
    found = []
    for turn in range(2):  # the second one learns from what the first has seen
        sink = Sink(tmp_path, transforms=rules)
        body = b"\n".join(
            json.dumps({"message": f"user {who} paid {n} EUR", "timestamp": NOW + n}).encode()
            for n, who in enumerate(("ann", "bob", "ann")[turn:])
        )
        sink.send(lines(body, records.LOG_LINES))
        found = [json.loads(row["payload"]) for row in sink.rows(f"{TODAY}/logs.parquet")]
    assert {row["_pattern"] for row in found} == {"user <*> paid <*> EUR"}
    assert len({row["_pattern_id"] for row in found}) == 1
    assert [row["message"] for row in found[:1]] == ["user ann paid 0 EUR"]
    assert len(found) == 5
    assert (sink.options.state / FILE).is_file()


def test_rows_without_a_message_stay_as_they_are(tmp_path):
    sink = Sink(tmp_path, transforms=chain('transform "pattern" {\nfield = "text"\n}'), data_format="binary")
    payloads = [b'{"text":"a 1"} ', b'[1, "text"]', b"\xff\xfe", b'{ "other": 1 }']
    sink.send(frames(fw.logs([fw.log(n, payload=payload) for n, payload in enumerate(payloads)])))
    first, *rest = [row["payload"] for row in sink.rows(f"{TODAY}/logs.parquet")]
    assert json.loads(first)["_pattern"] == "a <*>"
    assert rest == payloads[1:]


def test_a_message_that_is_a_column_may_stand_beside_an_empty_payload(tmp_path):
    sink = Sink(tmp_path, transforms=chain('transform "pattern" {\nfield = "event_name"\n}'))
    given = [fw.event(n, name=f"step {n}", payload=payload) for n, payload in enumerate((b"{}", b"{ }", b'{"a":1}'))]
    sink.send(frames(fw.events(given)))
    found = [json.loads(row["payload"]) for row in sink.rows(f"{TODAY}/events.parquet")]
    assert [row.pop("_pattern") for row in found] == ["step <*>"] * 3
    assert [len(row) for row in found] == [1, 1, 2]


def test_templates_beside_each_other_are_bounded(monkeypatch):
    """Each new message is held against all of them."""
    monkeypatch.setattr("tailrace.streams.templates._MOST_BESIDE", 5)
    given = Templates(least=0.99)
    for number in range(20):
        given.of([f"first {'ab'[number % 2]}{chr(97 + number)} x"])
    assert len(given._all) == 5


def test_what_could_not_be_written_down_was_not_learned(tmp_path, monkeypatch):
    given = Templates(file=tmp_path / FILE)
    (ann,) = given.of(["user ann logged in"])
    with monkeypatch.context() as full:
        full.setattr("os.write", _no_room)
        with pytest.raises(OSError, match="No space"):
            given.of(["user bob logged in"])
    (bob,) = given.of(["user bob logged in"])
    (again,) = Templates(file=tmp_path / FILE).of(["user eve logged in"])
    assert ann.id == bob.id == again.id
    assert again.text == "user <*> logged in"


def _no_room(*_: object) -> int:
    raise OSError(28, "No space left on device")


def test_a_full_disk_is_no_reason_to_refuse_rows(tmp_path, monkeypatch):
    sink = Sink(tmp_path, transforms=chain('transform "pattern" { }'))
    body = b'{"message":"user ann paid","timestamp":%d}' % NOW
    with monkeypatch.context() as full:
        full.setattr("tailrace.streams.templates.os.write", _no_room)
        with pytest.raises(OSError, match="No space"):
            sink.send(lines(body, records.LOG_LINES))
    sink.send(lines(body, records.LOG_LINES))
    assert len(sink.rows(f"{TODAY}/logs.parquet")) == 1
    assert not list((sink.options.state / "quarantine").iterdir())
