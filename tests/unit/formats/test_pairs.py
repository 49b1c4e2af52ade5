"""Keys and values: what a writer of each dialect writes is read back, any bytes are stored or refused."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from layoutread import Chunks

from tailrace.core import Common, ConfigError, Pairs, Table, col
from tailrace.formats import decoder
from tailrace.formats.base import Bad, Decoder

COLUMNS = (col("known"), col("number", "integer"), col("name"), col("prefix_time", "timestamp", "syslog_time"))
DIALECTS = ("logfmt", "ltsv", "cef", "leef")


def table_of(dialect: str, **more: Any) -> Table:
    return Table("t", "", Pairs(dialect), COLUMNS, Common(time=()), **more)


READERS: dict[str, Decoder] = {d: decoder(table_of(d), Pairs(d)) for d in DIALECTS}


def read(dialect: str, *chunks: bytes, reader: Decoder | None = None) -> tuple[list[dict[str, Any]], list[Bad], int]:
    """Rows with their columns and what is beside them, in order."""
    rows: list[tuple[int, dict[str, Any]]] = []
    bad: list[Bad] = []
    skipped = 0
    for batch in (reader or READERS[dialect]).decode(Chunks(chunks)):
        for row in range(batch.rows):
            values = {n: a[row].as_py() for n, a in batch.columns.items() if a[row].as_py() is not None}
            extra = batch.extra[row].as_py() if batch.extra is not None else None
            rows.append((int(batch.positions[row]), values | json.loads(extra or "{}")))
        bad += batch.bad
        skipped += batch.skipped
    return [row for _, row in sorted(rows, key=lambda pair: pair[0])], bad, skipped


def test_logfmt() -> None:
    rows, bad, skipped = read(
        "logfmt",
        b'known=a number=12 msg="two words" flag url=http://x/?a=b empty=\n\n  known="say \\"hi\\"\\n" number=x\n?"\n',
    )
    assert rows == [
        {"known": "a", "number": 12, "msg": "two words", "flag": "true", "url": "http://x/?a=b", "empty": ""},
        {"known": 'say "hi"\n', "tp_misfit": {"number": "x"}},
    ]
    assert [(b.raw, b.reason) for b in bad] == [(b'?"', "logfmt: no match")]
    assert skipped == 1


def test_text_is_no_logfmt() -> None:
    assert [b.raw for b in read("logfmt", b"just some words\na = b\n")[1]] == [b"just some words", b"a = b"]


def test_ltsv() -> None:
    rows, bad, _ = read("ltsv", b"known:a\tnumber:1\ttime:[10:00:00]\tempty:\nknown:b\t404\tx:1\n")
    assert rows == [{"known": "a", "number": 1, "time": "[10:00:00]", "empty": ""}]
    assert [b.raw for b in bad] == [b"known:b\t404\tx:1"]


def test_cef_header_and_escapes() -> None:
    line = b"Jul  5 2024 10:00:00 h CEF:0|v|p\\|q|1|id|na\\\\me|3|known=a\\=b c\\nd  other=x y  number=7 ad.x[0]=z\n"
    rows, bad, _ = read("cef", line)
    assert not bad
    assert rows[0]["name"] == "na\\me"
    assert rows[0]["known"] == "a=b c\nd"
    assert (rows[0]["other"], rows[0]["number"], rows[0]["ad.x[0]"]) == ("x y", 7, "z")
    assert str(rows[0]["prefix_time"]) == "2024-07-05 10:00:00"
    assert rows[0]["device_product"] == "p|q"


def test_leef_of_both_versions() -> None:
    rows, bad, _ = read(
        "leef",
        b"LEEF:1.0|v|p|1|login|known=a b\tnumber=1\tx=y=z\n"
        b"<13>Jul  5 2024 10:00:00 h LEEF:2.0|v|p|1|login|^|known=a\tb^number=2\n"
        b"LEEF:2.0|v|p|1|login|x7C|known=c|number=3\nLEEF:2.0|v|p|1|login||known=d\tnumber=4\nLEEF:9\n",
    )
    assert [(row["known"], row["number"]) for row in rows] == [("a b", 1), ("a\tb", 2), ("c", 3), ("d", 4)]
    assert rows[0]["x"] == "y=z"
    assert [b.raw for b in bad] == [b"LEEF:9"]


def test_of_a_key_that_comes_again_the_last_wins() -> None:
    assert read("logfmt", b"known=a x=1 known=b x=2\n")[0] == [{"known": "b", "x": "2"}]


def test_only_fields_that_are_kept() -> None:
    reader = decoder(table_of("logfmt", keep=("app_*",)), Pairs("logfmt"))
    assert read("logfmt", b"known=a app_x=1 other=2\n", reader=reader)[0] == [{"known": "a", "app_x": "1"}]


def test_control_characters_are_values_like_any() -> None:
    every = bytes(c for c in range(1, 32) if c not in b"\t\n\r\v\f ")
    rows, bad, _ = read("logfmt", b"".join(b"k%d=%c\n" % (n, c) for n, c in enumerate(every)) + b"z=" + every + b"\n")
    assert len(rows) == len(every)
    assert [b.raw for b in bad] == [b"z=" + every]


def test_an_unknown_dialect() -> None:
    with pytest.raises(ConfigError, match="dialect"):
        decoder(table_of("xml"), Pairs("xml"))


keys = st.from_regex(r"[a-z][a-z0-9_.]{0,6}", fullmatch=True).filter(
    lambda key: key not in ("number", "name", "version", "severity", "tp_misfit")
)
texts = st.text(
    st.characters(exclude_characters="\n\r\v\f\t\x85\u2028\u2029", exclude_categories=("Cs", "Cc")), max_size=8
)
records = st.dictionaries(keys, texts, min_size=1, max_size=4)


def written(dialect: str, record: dict[str, str]) -> str:
    if dialect == "logfmt":
        return " ".join(f"{key}={json.dumps(value, ensure_ascii=False)}" for key, value in record.items())
    if dialect == "ltsv":
        return "\t".join(f"{key}:{value}" for key, value in record.items())
    if dialect == "leef":
        return "LEEF:2.0|v|p|1|e||" + "\t".join(f"{key}={value}" for key, value in record.items())
    escaped = {key: value.replace("\\", "\\\\").replace("=", "\\=") for key, value in record.items()}
    return "CEF:0|v|p|1|e|n|3|" + " ".join(f"{key}={value}" for key, value in escaped.items())


@pytest.mark.parametrize("dialect", DIALECTS)
@given(st.lists(records, min_size=1, max_size=5))
def test_what_is_written_is_read_back(dialect: str, given: list[dict[str, str]]) -> None:
    if dialect == "cef":  # blanks around a value cannot be told from those between pairs
        given = [{key: value.strip(" ") for key, value in record.items()} for record in given]
    data = "".join(f"{written(dialect, record)}\n" for record in given).encode()
    rows, bad, _ = read(dialect, data)
    assert not bad
    assert [{key: row[key] for key in record} for row, record in zip(rows, given, strict=True)] == given


@pytest.mark.parametrize("dialect", DIALECTS)
@given(st.lists(st.binary(max_size=60), max_size=4))
def test_any_bytes_are_stored_or_refused(dialect: str, chunks: list[bytes]) -> None:
    rows, bad, skipped = read(dialect, *chunks)
    data = b"".join(chunks)
    assert len(rows) + len(bad) + skipped == data.count(b"\n") + (not data.endswith(b"\n") and bool(data))


@pytest.mark.parametrize("dialect", DIALECTS)
@given(st.text('CEF:LEEF01|=\\" \tab\n', max_size=60))
def test_nearly_right_lines_are_stored_or_refused(dialect: str, text: str) -> None:
    data = f"CEF:0|v|p|1|e|n|3|{text}\nLEEF:1.0|v|p|1|e|{text}\n{text}".encode()
    rows, bad, skipped = read(dialect, data)
    assert len(rows) + len(bad) + skipped == data.count(b"\n") + (not data.endswith(b"\n"))


def test_leef_fills_columns_that_cef_has_named() -> None:
    columns = (col("port", "integer", "spt"), col("user", src="suser"), col("seconds", src="rt"), col("url"))
    table = Table("t", "", Pairs("leef"), columns, Common(time=()))
    line = b"LEEF:1.0|a|b|1|e|devTime=1720173600\tsrcPort=22\tusrName=zoe\turl=http://x/\tsrcMAC=00:11\n"
    other = b"LEEF:1.0|a|b|1|e|srcPort=21\tspt=23\n"
    rows, _, _ = read("leef", line, other, reader=decoder(table, Pairs("leef")))
    heads = {"version", "device_vendor", "device_product", "device_version", "device_event_class_id"}
    assert [{name: value for name, value in row.items() if name not in heads} for row in rows] == [
        {"port": 22, "user": "zoe", "seconds": "1720173600", "url": "http://x/", "srcMAC": "00:11"},
        {"port": 23},
    ]
