"""The shared columns, against a plain Python reading of one row at a time."""

from __future__ import annotations

import ipaddress
import json
import re
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tailrace.core import At, Common, Jsonl, Sql, Table, col, struct
from tailrace.pipeline.enrich import Enricher, addresses_in, timestamps
from tailrace.pipeline.lists import list_of, merged_lists

ADDRESSES = ["192.0.2.1", "10.0.0.7", "255.255.255.255", "2001:db8::1", "::1", "::ffff:10.0.0.1", "fe80::1"]
ODD = [
    "",
    "-",
    "unknown",
    "256.1.1.1",
    "1.2.3",
    "1.2.3.4.5",
    "01.2.3.4",
    "cloudtrail.amazonaws.com",
    "unix:/run/x",
    ":::",
]


def with_port(address: str) -> str:
    return f"[{address}]:443" if ":" in address else f"{address}:80"


single = st.one_of(
    st.sampled_from(ADDRESSES), st.sampled_from(ODD), st.sampled_from(ADDRESSES).map(with_port), st.text(max_size=6)
)
written = st.one_of(single, st.lists(single, min_size=1, max_size=3).map(", ".join))
names = st.none() | st.sampled_from(["", "alice", "bob", "carol"])


def is_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True


def found_in(text: str | None) -> list[str]:
    """Reference: every blank- or comma-separated piece that is an address, with or without port."""
    found = []
    for piece in re.split(r"[\s,]+", text or ""):
        bracket = re.fullmatch(r"\[(.*)\](:\d+)?", piece, re.DOTALL)
        port = re.fullmatch(r"([^:]+):\d+", piece)
        for candidate in (piece, bracket and bracket[1], port and port[1]):
            if candidate and is_address(candidate):
                found.append(candidate)
                break
    return found


def once(values: Iterable[str | None]) -> list[str] | None:
    return list(dict.fromkeys(v for v in values if v)) or None


TABLE = Table(
    name="t",
    doc="",
    format=Jsonl(),
    columns=(
        col("client"),
        col("proxy"),
        col("who", struct(col("name"), col("arn"))),
        col("other"),
        col("resources", "json"),
    ),
    common=Common(
        time=("at",),
        source_ip="client",
        destination_ip="proxy",
        ips=("client", "proxy"),
        usernames=("who.name", "other"),
        akas=("who.arn", Sql("json_extract_string(resources, '$[*].arn')"), Sql("nullif(upper(other), 'BOB')")),
    ),
)
rows_of = st.lists(
    st.fixed_dictionaries(
        {
            "client": st.none() | written,
            "proxy": st.none() | written,
            "who": st.none() | st.fixed_dictionaries({"name": names, "arn": names}),
            "other": names,
            "resources": st.none() | st.lists(names, max_size=3),
        }
    ),
    min_size=1,
    max_size=8,
)


def columns_of(rows: list[dict[str, Any]]) -> dict[str, pa.Array]:
    kinds = {"who": pa.struct([("name", pa.string()), ("arn", pa.string())])}
    columns = {name: [r[name] for r in rows] for name in rows[0]}
    columns["resources"] = [
        None if some is None else json.dumps([{"arn": a} for a in some]) for some in columns["resources"]
    ]
    return {name: pa.array(values, kinds.get(name, pa.string())) for name, values in columns.items()}


def expected(row: dict[str, Any]) -> dict[str, Any]:
    who = row["who"] or {}
    client, proxy = found_in(row["client"]), found_in(row["proxy"])
    upper = (row["other"] or "").upper()
    return {
        "tp_source_ip": client[0] if client else None,
        "tp_destination_ip": proxy[0] if proxy else None,
        "tp_ips": once([*client, *proxy]),
        "tp_usernames": once([who.get("name"), row["other"]]),
        "tp_akas": once([who.get("arn"), upper if upper != "BOB" else None, *(row["resources"] or [])]),
    }


@settings(deadline=None, max_examples=60)
@given(rows_of)
def test_rows_have_what_a_slow_reading_finds(rows: list[dict[str, Any]]) -> None:
    made = Enricher(TABLE).made(columns_of(rows), len(rows))
    for number, row in enumerate(rows):
        for name, wanted in expected(row).items():
            found = made[name][number].as_py() if name in made else None
            # Lists stand after single values, and which columns are lists depends on the neighbours.
            assert (sorted(found) if found and name == "tp_ips" else found) == (
                sorted(wanted) if wanted and name == "tp_ips" else wanted
            )
    assert all(len(array) == len(rows) for array in made.values())


@given(st.lists(st.tuples(names, names, names), min_size=1, max_size=10))
def test_lists_of_single_values(rows: list[tuple[str | None, ...]]) -> None:
    made = list_of([pa.array(column, pa.string()) for column in zip(*rows, strict=True)], len(rows))
    wanted = [once(row) for row in rows]
    assert ([None] * len(rows) if made is None else made.to_pylist()) == wanted


lists = st.none() | st.lists(st.sampled_from(["a", "b", "c"]), max_size=3)


@given(st.lists(st.tuples(lists, lists), min_size=1, max_size=10))
def test_lists_of_lists(rows: list[tuple[list[str] | None, ...]]) -> None:
    made = merged_lists([pa.array(column, pa.list_(pa.string())) for column in zip(*rows, strict=True)], len(rows))
    wanted = [once([v for some in row for v in some or ()]) for row in rows]
    assert ([None] * len(rows) if made is None else made.to_pylist()) == wanted


def test_lists_of_a_slice() -> None:
    whole = pa.array([["x"], ["a", "a"], None, ["b"]], pa.list_(pa.string()))
    assert merged_lists([whole.slice(1)], 3).to_pylist() == [["a"], None, ["b"]]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("192.0.2.1", ("192.0.2.1",)),
        ("10.0.0.1:80, [2001:db8::1]:443", ("10.0.0.1", "2001:db8::1")),
        ("10.0.0.1:80 : 10.0.0.2:80", ("10.0.0.1", "10.0.0.2")),
        ("[::1]", ("::1",)),
        ("fe80::1%eth0", ("fe80::1%eth0",)),
        ("unix:/run/app.sock", ()),
        ("10.0.0.1:port", ()),
        ("AWS Internal", ()),
        ("", ()),
    ],
)
def test_addresses_in_a_text(text: str, found: tuple[str, ...]) -> None:
    assert addresses_in(text) == found


def test_an_address_twice_in_one_column_is_there_once() -> None:
    table = Table("t", "", Jsonl(), (col("up"),), Common(time=(), ips=("up",)))
    made = Enricher(table).made({"up": pa.array(["10.0.0.1:80, 10.0.0.1:80, 10.0.0.2:80", None])}, 2)
    assert made["tp_ips"].to_pylist() == [["10.0.0.1", "10.0.0.2"], None]


def test_a_list_column_of_addresses() -> None:
    table = Table("t", "", Jsonl(), (col("up", "varchar[]"), col("peer")), Common(time=(), ips=("up", "peer")))
    columns = {"up": pa.array([["10.0.0.1", "", None], None]), "peer": pa.array(["10.0.0.2", "10.0.0.3"])}
    assert Enricher(table).made(columns, 2)["tp_ips"].to_pylist() == [["10.0.0.2", "10.0.0.1"], ["10.0.0.3"]]


def test_dictionary_columns_count_as_their_values() -> None:
    columns = {"client": pa.array(["192.0.2.1", "-", None, "192.0.2.1"]).dictionary_encode()}
    made = Enricher(TABLE).made(columns, 4)
    assert made["tp_source_ip"].to_pylist() == ["192.0.2.1", None, None, "192.0.2.1"]
    assert made["tp_ips"].to_pylist() == [["192.0.2.1"], None, None, ["192.0.2.1"]]


def test_a_table_may_map_shared_columns_itself() -> None:
    table = Table(
        "t", "", Jsonl(), (col("client"), col("tp_ips", "varchar[]", "peer")), Common(time=(), ips=("client",))
    )
    columns = {"client": pa.array(["192.0.2.1"]), "tp_ips": pa.array(["mine"])}
    assert Enricher(table).made(columns, 1)["tp_ips"].to_pylist() == [["mine"]]


def test_nothing_is_made_from_nothing() -> None:
    assert Enricher(TABLE).made({"client": pa.nulls(2, pa.string())}, 2) == {}


@given(st.lists(st.tuples(*[st.none() | st.integers(0, 2**31)] * 3), min_size=1, max_size=10))
def test_the_first_time_that_is_there_wins(rows: list[tuple[int | None, ...]]) -> None:
    def moment(seconds: int | None) -> datetime | None:
        return None if seconds is None else datetime.fromtimestamp(seconds, UTC).replace(tzinfo=None)

    columns = {
        "a": pa.array([moment(r[0]) for r in rows], pa.timestamp("us")),
        "b": pa.array([None if r[1] is None else f"{moment(r[1]):%d/%b/%Y:%H:%M:%S +0000}" for r in rows], pa.string()),
        "c": pa.array([None if r[2] is None else str(r[2]) for r in rows], pa.string()),
    }
    common = Common(time=("a", At("b", "%d/%b/%Y:%H:%M:%S %z"), At("c", "epoch_s")))
    wanted = [moment(next((s for s in row if s is not None), None)) for row in rows]
    assert timestamps(columns, common, len(rows)).to_pylist() == wanted
