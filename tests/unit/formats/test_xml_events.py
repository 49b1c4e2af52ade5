"""XML: records are found wherever they stand, read back as they were written, and broken ones cost no other."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any
from xml.sax.saxutils import escape, quoteattr

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from layoutread import Chunks

from tailrace.core import Common, Table, Xml, col
from tailrace.formats import decoder
from tailrace.formats.base import Batch
from tailrace.formats.xml_tree import Builder

EVENT = Xml("Event", "Data@Name")
TABLE = Table("t", "", EVENT, (col("name"), col("n", "integer"), col("rest", "json")), Common(time=()))


def decoded(*chunks: bytes, table: Table = TABLE, fmt: Xml = EVENT) -> list[Batch]:
    return list(decoder(table, fmt).decode(Chunks(chunks)))


def rows_of(batches: list[Batch]) -> list[tuple[Any, ...]]:
    rows: list[tuple[Any, ...]] = []
    for batch in batches:
        for row in range(batch.rows):
            extra = batch.extra[row].as_py() if batch.extra is not None else None
            values = [batch.columns[name][row].as_py() for name in ("name", "n", "rest")]
            rows.append((int(batch.positions[row]), *values, extra))
    return rows


def bad_of(batches: list[Batch]) -> list[tuple[int, bytes, str]]:
    return [(bad.position, bad.raw, bad.reason) for batch in batches for bad in batch.bad]


def event(name: str, n: object) -> str:
    return f"<Event><name>{escape(name)}</name><n>{n}</n></Event>"


def test_records_are_found_in_a_document_and_one_after_another() -> None:
    inner = f"{event('a', 1)}\n<!-- {event('no', 0)} -->{event('b', 2)}"
    data = f'<?xml version="1.0"?>\n<Events title="a > b">{inner}</Events>\n{event("c", 3)}'
    batches = decoded(data.encode())
    assert [row[1:3] for row in rows_of(batches)] == [("a", 1), ("b", 2), ("c", 3)]
    assert bad_of(batches) == []
    for batch in batches:
        for row, at in enumerate(batch.positions.tolist()):
            assert data.encode()[at:].startswith(batch.raw(row))


def test_prefixes_attributes_lists_and_names() -> None:
    raw = b"""<e:Event xmlns:e="urn:x"><e:a x="1" e:y="2">text</e:a><b/><c>1</c><c>2</c><d> <f>g</f> </d>
        <Data Name="user">jane</Data><Data>plain</Data><Data Name="user">joe</Data>
        <g><![CDATA[</Event> & <]]></g></e:Event>"""
    assert Builder("Data@Name").build(raw) == {
        "a": {"@x": "1", "@y": "2", "#text": "text"},
        "b": None,
        "c": ["1", "2"],
        "d": {"f": "g"},
        "user": ["jane", "joe"],
        "Data": "plain",
        "g": "</Event> & <",
    }
    assert [row[1] for row in rows_of(decoded(raw.replace(b"<b/>", b"<name>x</name>")))] == ["x"]


def test_misfits_and_unknown_elements_are_kept() -> None:
    ((_, name, n, _, extra),) = rows_of(decoded(b"<Event><name>a</name><n>many</n><k z='1'/></Event>"))
    assert (name, n) == ("a", None)
    assert json.loads(extra) == {"k": {"@z": "1"}, "tp_misfit": {"n": "many"}}


def test_broken_records_cost_no_other() -> None:
    data = f"{event('a', 1)}<Event><name>open</n></Event>{event('b', 2)}<Event><name>no end"
    data += f"{event('c', 3)} loose {event('d', 4)}<Event><na"
    batches = decoded(data.encode())
    assert [row[1] for row in rows_of(batches)] == ["a", "b", "c", "d"]
    reasons = [reason for _, _, reason in bad_of(batches)]
    assert [r.partition(": ")[2][:10] for r in reasons] == ["mismatched", "the record", "not a reco", "the record"]
    assert bad_of(batches)[2][1] == b"loose"


def test_declared_encodings_are_read() -> None:
    data = '<?xml version="1.0" encoding="ISO-8859-1"?><E>' + event("café", 1) + "</E>"
    assert rows_of(decoded(data.encode("latin-1")))[0][1] == "café"


def test_entities_do_not_grow() -> None:
    declared = '<!DOCTYPE E [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;">]>'
    batches = decoded(f"{declared}<E>{event('x', 1).replace('x', '&b;')}{event('y', 2)}</E>".encode())
    assert [row[1] for row in rows_of(batches)] == ["y"]
    assert ["undefined entity" in reason for _, _, reason in bad_of(batches)] == [True]


def test_depth_is_bounded() -> None:
    batches = decoded(b"<Event>" + b"<a>" * 200 + b"</a>" * 200 + b"</Event>")
    assert rows_of(batches) == []
    assert "deep" in bad_of(batches)[0][2]


TEXT = st.text(
    st.characters(codec="utf-8", exclude_categories=["Cs", "Cc"], exclude_characters="\r\n\ufffe\uffff"), max_size=10
)


@st.composite
def documents(draw: st.DrawFn) -> tuple[bytes, list[tuple[str, int]]]:
    rows = draw(st.lists(st.tuples(TEXT.filter(bool), st.integers(-99, 99)), max_size=8))
    parts: list[str] = []
    for name, n in rows:
        parts.append(draw(st.sampled_from(["", "\n", "<!-- <Event> -->", "<x a='>'/>"])))
        parts.append(f"<Event z={quoteattr(name)}><name>{escape(name)}</name><n>{n}</n></Event>")
    return f"<Events>{''.join(parts)}</Events>".encode(), rows


@settings(max_examples=60, deadline=None)
@given(document=documents(), cuts=st.lists(st.integers(0, 600), max_size=5))
def test_what_is_written_is_read_back_however_it_arrives(
    document: tuple[bytes, list[tuple[str, int]]], cuts: list[int]
) -> None:
    data, rows = document
    places = sorted({min(cut, len(data)) for cut in cuts})
    chunks = [data[a:b] for a, b in zip([0, *places], [*places, len(data)], strict=True)]
    whole, pieces = rows_of(decoded(data)), rows_of(decoded(*chunks))
    assert [(name, n) for _, name, n, _, _ in whole] == rows
    assert whole == pieces


@settings(max_examples=150, deadline=None)
@given(
    noise=st.lists(
        st.sampled_from(
            [b"<Event>", b"</Event>", b"<!--", b"-->", b"<![CDATA[", b"]]>", b"<n>", b"&", b"x", b"\xff", b"<Event/>"]
        )
    )
)
def test_noise_is_survived(noise: list[bytes]) -> None:
    data = b"".join(noise)
    assert places(decoded(data)) == sorted(set(places(decoded(data))))
    assert rows_of(decoded(data)) == rows_of(decoded(*noise))


def places(batches: list[Batch]) -> list[int]:
    return sorted([at for at, *_ in rows_of(batches)] + [at for at, *_ in bad_of(batches)])


def endless() -> Iterator[bytes]:
    yield b"<Event>"
    for _ in range(40):
        yield b"<a>" + b"x" * 1_000_000 + b"</a>"


@pytest.mark.parametrize("end", [b"", b"</Event><Event><name>last</name></Event>"])
def test_a_record_without_end_is_not_held(end: bytes) -> None:
    batches = decoded(*endless(), end)
    assert all("more than" in reason or "no end" in reason or "not a" in reason for _, _, reason in bad_of(batches))
    assert max(len(raw) for _, raw, _ in bad_of(batches)) <= 64 * 1024
    assert [row[1] for row in rows_of(batches)] == (["last"] if end else [])
