"""Transforms on decoded rows: what they keep, what they change, and that nothing else happens to a row."""

from __future__ import annotations

import json

import flatwrite as fw
import pytest
from livesink import NOW, TODAY, Sink, chain, frames, lines

from tailrace.core.errors import ConfigError
from tailrace.streams import records
from tailrace.streams.driver import SinkDriver
from tailrace.streams.patterns import Pattern
from tailrace.streams.redaction import PATTERNS, Redact

LINES = b"\n".join(
    json.dumps({"message": f"m{n}", "level": level, "timestamp": NOW + n, "data": data}).encode()
    for n, (level, data) in enumerate([
        ("info", {"code": 200, "user": {"name": "ann"}}), ("error", {"code": 503, "user": {"name": "bob"}}),
        ("debug", {"code": "x"}), ("error", {}),
    ])
)  # fmt: skip


def stored(root, rules: str) -> list[str]:
    sink = Sink(root, transforms=chain(rules))
    sink.send(lines(LINES, records.LOG_LINES))
    assert not list((sink.options.state / "quarantine").iterdir())
    return [json.loads(row["payload"])["message"] for name in sink.tree() for row in sink.rows(name)]


def condition(field: str, operator: str, value: object = None) -> str:
    given = "" if value is None else f"value = {json.dumps(value)}"
    return f'condition {{\n field = "{field}"\n operator = "{operator}"\n {given}\n}}'


CONDITIONS = {
    "eq": (("level", "eq", "error"), "13"), "ne of a missing field": (("code", "ne", 200), "123"),
    "contains": (("user.name", "contains", "nn"), "0"), "starts_with": (("message", "starts_with", "m"), "0123"),
    "ends_with": (("message", "ends_with", "3"), "3"), "regex": (("message", "regex", "m[12]"), "12"),
    "exists": (("user.name", "exists", None), "01"), "gt": (("code", "gt", 200), "1"),
    "gte": (("code", "gte", 200), "01"), "lt": (("code", "lt", 503), "0"), "lte": (("payload.code", "lte", 503), "01"),
    "column of another kind": (("device_id", "exists", None), ""),
}  # fmt: skip


@pytest.mark.parametrize("name", CONDITIONS)
def test_conditions(tmp_path, name):
    test, matching = CONDITIONS[name]
    found = stored(tmp_path, f'transform "filter" {{\n{condition(*test)}\n}}')
    assert found == [f"m{n}" for n in range(4) if str(n) not in matching]


def test_filters_keep_any_or_all_and_take_sql(tmp_path):
    both = f"{condition('level', 'eq', 'error')}\n{condition('code', 'exists')}"
    assert stored(tmp_path / "all", f'transform "filter" {{\naction = "keep"\n{both}\n}}') == ["m1"]
    text = f'transform "filter" {{\naction = "keep"\nmatch = "any"\n{both}\n}}'
    assert stored(tmp_path / "any", text) == ["m0", "m1", "m2", "m3"]
    where = """transform "filter" {\n where = "level = 'error' AND payload->>'code' IS NULL"\n}"""
    assert stored(tmp_path / "sql", where) == ["m0", "m1", "m2"]


def test_a_sample_is_the_same_ones_and_by_key_all_or_none(tmp_path):
    rows = [fw.event(n, name=f"n{n % 50}") for n in range(1000)]
    found = []
    for turn, key in enumerate(("", "", 'key = "event_name"')):
        sink = Sink(tmp_path / str(turn), transforms=chain(f'transform "sample" {{\nrate = 0.3\n{key}\n}}'))
        sink.events(*rows)
        found.append([row["event_name"] for row in sink.rows(f"{TODAY}/events.parquet")])
    assert found[0] == found[1]
    assert 200 < len(found[0]) < 400
    assert {found[2].count(name) for name in found[2]} == {20}
    assert 0 < len(set(found[2])) < 50
    assert SinkDriver(sink.options).counts()["rows_filtered"] == 1000 - len(found[2])


def test_similar_rows_become_one_that_counts_them(tmp_path):
    rules = 'transform "reduce" {\ngroup_by = ["event_name"]\nwindow = "5s"\nmax_events = 4\n}'
    sink = Sink(tmp_path, transforms=chain(rules))
    start = NOW // 5000 * 5000 + 5000
    stamps = [start + n * 100 for n in range(6)]
    sink.events(*(fw.event(name="a", timestamp=stamp, payload=b'{"n":1}') for stamp in reversed(stamps)),
                fw.event(name="b", timestamp=start, payload=b"text"), fw.event(name="a", timestamp=start + 5000),
                at=start)  # fmt: skip
    rows = [(row["event_name"], row["timestamp"] - start, json.loads(row["payload"]))
            for row in sink.rows(f"{TODAY}/events.parquet")]  # fmt: skip
    assert sorted(rows, key=lambda row: row[:2]) == [
        ("a", 0, {"n": 1, "_reduced_count": 4, "_reduced_span_ms": 300}),
        ("a", 400, {"n": 1, "_reduced_count": 2, "_reduced_span_ms": 100}),
        ("a", 5000, {"page": "/home"}),
        ("b", 0, {"message": "text"}),
    ]
    assert SinkDriver(sink.options).counts()["rows_filtered"] == 4


FOUND = {
    "email": "ann.b+c@mail.example.org", "phone": "+49 171 2345 678", "credit_card": "4111 1111 1111 1111",
    "ssn_us": "078-05-1120", "cpr_dk": "010190-1234", "nino_uk": "AB123456C", "bsn_nl": "123456782",
    "ipv4": "10.1.2.3", "ipv6": "2001:db8::8a2e:370:7334", "passport": "C01234567", "iban": "DE89370400440532013000",
}  # fmt: skip


@pytest.mark.parametrize("name", PATTERNS)
def test_patterns_find_what_they_are_for(name):
    redact = Redact(patterns=(PATTERNS[name],))
    text = json.dumps({"a": [f"before {FOUND[name]} behind"], "plain": "nothing here", "n": 17}).encode()
    assert json.loads(redact._cleaned(text)) == {"a": ["before [REDACTED] behind"], "plain": "nothing here", "n": 17}


def test_a_number_that_only_looks_like_a_card_stays():
    redact = Redact(patterns=(PATTERNS["credit_card"],))
    assert redact._cleaned(b'{"id":4111111111111112}') == b'{"id":4111111111111112}'
    assert redact._cleaned(b'{"id":4111111111111111}') == b'{"id":"[REDACTED]"}'


def test_fields_are_redacted_wholly_or_by_pattern(tmp_path):
    rules = """transform "redact" {
      custom_patterns = { order = "A-[0-9]+" }
      field { path = "user.name" }
      field { path = "text"
              pattern = "order" }
      field { path = "source"
              pattern = "ipv4" }
    }"""
    sink = Sink(tmp_path, transforms=chain(rules), data_format="binary")
    payload = b'{"user":{"name":"ann","id":7},"text":"order A-17 of ann@x.org"}'
    sink.send(frames(fw.logs([fw.log(payload=payload, source="host 10.0.0.1")])))
    (row,) = sink.rows(f"{TODAY}/logs.parquet")
    assert json.loads(row["payload"]) == {
        "user": {"name": "[REDACTED]", "id": 7}, "text": "order [REDACTED] of ann@x.org",
    }  # fmt: skip
    assert row["source"] == "host [REDACTED]"


def test_listeners_have_transforms_of_their_own(tmp_path):
    rules = chain('transform "filter" {\nwhere = "true"\n}')
    sink = Sink(tmp_path, of_listeners={"tcp.x": rules})
    sink.send(frames(fw.events([fw.event(1)])), lines(b'{"message":"m"}', records.LOG_LINES))
    assert sink.tree() == [f"{TODAY}/logs.parquet"]


def test_a_row_that_cannot_be_redacted_shows_none_of_its_texts(tmp_path, monkeypatch):
    sink = Sink(tmp_path, transforms=chain('transform "redact" {\npatterns = ["email"]\n}'))
    monkeypatch.setattr(Redact, "_redact_column", _fails)
    sink.send(frames(fw.events([fw.event(name="ann@x.org", payload=b'{"a":"bob@x.org"}')])))
    (row,) = sink.quarantined()
    assert "x.org" not in str(row)
    assert row["reason"] == "transform: redact: ValueError"


def test_a_row_that_fails_before_it_is_redacted_shows_none_of_its_texts_either(tmp_path, monkeypatch):
    given = 'transform "pattern" {\nfield = "a"\n}', 'transform "redact" {\npatterns = ["email"]\n}'
    monkeypatch.setattr(Pattern, "apply", _fails)
    for number, order in enumerate((given, given[::-1])):
        sink = Sink(tmp_path / str(number), transforms=chain("\n".join(order)))
        sink.send(frames(fw.events([fw.event(name="ann@x.org", payload=b'{"a":"bob@x.org"}')])))
        (row,) = sink.quarantined()
        # What was redacted before is shown, with what is wrong.
        assert row["reason"] == "transform: pattern: ValueError" + (": ann@x.org" if number else "")
        assert "bob@x.org" not in str(row)
        assert ("[REDACTED]" in str(row)) == bool(number)


def _fails(*_: object) -> None:
    raise ValueError("ann@x.org")


WRONG = {
    "no condition": ('transform "filter" { }', "needs conditions"),
    "no SQL": ('transform "filter" {\nwhere = "nonsense ="\n}', "no condition over rows"),
    "no column": ('transform "filter" {\nwhere = "colour = 1"\n}', "no condition over rows"),
    "no regex": (f'transform "filter" {{\n{condition("level", "regex", "(")}\n}}', "no regular expression"),
    "no key": ('transform "redact" {\nstrategy = "hash"\npatterns = ["email"]\n}', "needs 'hash_key'"),
    "nothing": ('transform "redact" { }', "nothing is looked for"),
    "no pattern": ('transform "redact" {\nfield {\npath = "a"\npattern = "b"\n}\n}', "no pattern 'b'"),
    "no share": ('transform "pattern" {\nsimilarity_threshold = 2\n}', "is a share"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_told_with_its_place(name):
    text, message = WRONG[name]
    with pytest.raises(ConfigError, match=message) as refused:
        chain(text)
    assert str(refused.value.where).startswith("x.tpc:")
