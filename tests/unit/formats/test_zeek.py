"""Zeek's logs: what its writer writes is read back with the types of its own header, in either form."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from layoutread import Chunks

from tailrace.core import Common, Table, Zeek, col
from tailrace.formats import decoder
from tailrace.formats.base import Bad

TABLE = Table("t", "", Zeek(), (col("ts", "timestamp", time="epoch_s"), col("uid")), Common(time=("ts",)))
READER = decoder(TABLE, Zeek())
TYPES = {
    "flag": "bool",
    "n": "count",
    "x": "double",
    "names": "set[string]",
    "sizes": "vector[count]",
    "word": "string",
}


def read(*chunks: bytes) -> tuple[list[dict[str, Any]], list[Bad], int]:
    rows: list[dict[str, Any]] = []
    bad: list[Bad] = []
    skipped = 0
    for batch in READER.decode(Chunks(chunks)):
        for row in range(batch.rows):
            values = {n: a[row].as_py() for n, a in batch.columns.items() if a[row].as_py() is not None}
            extra = batch.extra[row].as_py() if batch.extra is not None else None
            rows.append(values | json.loads(extra or "{}"))
        bad += batch.bad
        skipped += batch.skipped
    return rows, bad, skipped


def header(**types: str) -> str:
    names, kinds = "\t".join(types), "\t".join(types.values())
    marks = "#separator \\x09\n#set_separator\t,\n#empty_field\t(empty)\n#unset_field\t-\n#path\tapp\n"
    return f"{marks}#fields\tts\tuid\t{names}\n#types\ttime\tstring\t{kinds}\n"


def test_types_come_from_the_header() -> None:
    kinds = TYPES | {"at": "time"}
    data = header(**kinds) + "1720173600.5\tC1\tT\t7\t0.5\ta,b\t1,2\tx y\t1720173601.25\n#close\t2024\n"
    rows, bad, skipped = read(data.encode())
    assert [{n: v for n, v in row.items() if n != "ts"} for row in rows] == [
        {
            "uid": "C1", "_path": "app", "flag": True, "n": 7, "x": 0.5, "names": ["a", "b"], "sizes": [1, 2],
            "word": "x y", "at": "2024-07-05T10:00:01.250000Z",
        }
    ]  # fmt: skip
    assert str(rows[0]["ts"]) == "2024-07-05 10:00:00.500000"
    assert (bad, skipped) == ([], 8)


def test_names_that_come_again_are_numbered() -> None:
    data = "#separator \\x09\n#fields\tts\tn\tn\tn_2\t\n#types\ttime\tcount\tcount\tcount\tstring\n1\t7\t8\t9\tx\n"
    (row,) = read(data.encode())[0]
    assert {name: row[name] for name in row if name != "ts"} == {"n": 7, "n_2": 8, "n_2_2": 9, "field_5": "x"}


def test_unset_and_empty() -> None:
    rows, _, _ = read((header(**TYPES) + "1\tC1\t-\t-\t-\t(empty)\t-\t(empty)\n").encode())
    assert {n: v for n, v in rows[0].items() if n != "ts"} == {"uid": "C1", "_path": "app", "names": [], "word": ""}


def test_values_that_are_not_of_their_type_stay_texts() -> None:
    rows, bad, _ = read((header(**TYPES) + "1\tC1\tmaybe\t0x1\tinf\ta\t1,b\tw\n").encode())
    assert not bad
    assert (rows[0]["flag"], rows[0]["n"], rows[0]["x"], rows[0]["sizes"]) == ("maybe", "0x1", "inf", [1, "b"])


def test_headers_may_change_and_files_be_joined() -> None:
    data = header(n="count") + "1\tC1\t5\n#close\tx\n" + header(word="string", n="count") + "2\tC2\ta\t6\n"
    assert [(row["uid"], row["n"]) for row in read(data.encode())[0]] == [("C1", 5), ("C2", 6)]


def test_other_separators() -> None:
    data = "#separator ,\n#set_separator,|\n#fields,ts,uid,names\n#types,time,string,set[string]\n1,C1,a|b\n"
    assert read(data.encode())[0][0]["names"] == ["a", "b"]


def test_lines_without_a_header_or_of_another_width_are_refused() -> None:
    rows, bad, skipped = read(b"1\tC1\n\n" + header(n="count").encode() + b"1\tC1\n1\tC2\t3\n")
    assert [row["uid"] for row in rows] == ["C2"]
    assert [b.reason for b in bad] == ["zeek: no #fields before it", "zeek: 2 fields instead of 3"]
    assert skipped == 8


def test_separators_of_several_characters() -> None:
    data = "#separator \\x7c\\x7c\n#set_separator||,\n#fields||ts||uid||x\n#types||time||string||count\n1||C1||7\n"
    rows, _, _ = read(data.encode())
    assert [(row["uid"], row["x"]) for row in rows] == [("C1", 7)]


def test_entries_without_a_time_have_that_of_their_log() -> None:
    head = "#separator \\x09\n#path\tloaded_scripts\n#open\t2024-07-05-10-00-00\n"
    rows, _, _ = read(f"{head}#fields\tname\n#types\tstring\na.zeek\n".encode())
    assert [(str(row["ts"]), row["name"]) for row in rows] == [("2024-07-05 10:00:00", "a.zeek")]
    rows, _, _ = read(f"{head}#fields\tts\tname\n#types\ttime\tstring\n-\ta.zeek\n".encode())
    assert [row.get("ts") for row in rows] == [None]


def test_json_with_times_as_numbers_or_texts() -> None:
    numbers, _, _ = read(b'\n{"ts":1720173600.5,"uid":"C1","id.orig_p":5}\n')
    texts, _, _ = read(b'{"uid":"C1","ts":"2024-07-05T10:00:00.500000Z","id.orig_p":5}\n')
    assert numbers == texts
    assert str(numbers[0]["ts"]) == "2024-07-05 10:00:00.500000"
    assert numbers[0]["id.orig_p"] == 5
    both, _, _ = read(b'{"ts":1720173600.5,"uid":"C1"}\n{"ts":"2024-07-05T10:00:00.500000Z","uid":"C2"}\n')
    assert [str(row["ts"]) for row in both] == ["2024-07-05 10:00:00.500000"] * 2


words = st.text(
    st.characters(min_codepoint=33, max_codepoint=0x2FF, exclude_characters=",\x85"), min_size=1, max_size=6
).filter(lambda word: word != "-" and not word.startswith("(empty"))
entries = st.fixed_dictionaries(
    {},
    optional={
        "flag": st.booleans(),
        "n": st.integers(0, 2**63),
        "x": st.floats(-1e6, 1e6).map(lambda x: round(x, 3)),
        "names": st.lists(words, max_size=3),
        "sizes": st.lists(st.integers(0, 9), max_size=3),
        "word": words,
    },
)


def as_text(value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, list):
        return ",".join(map(as_text, value)) or "(empty)"
    return (
        {True: "T", False: "F"}[value]
        if isinstance(value, bool)
        else f"{value:.3f}"
        if isinstance(value, float)
        else str(value)
    )


@given(st.lists(entries, min_size=1, max_size=6), st.integers(1, 50))
def test_what_is_written_is_read_back(given: list[dict[str, Any]], size: int) -> None:
    lines = ["\t".join(["1", "C", *(as_text(entry.get(name)) for name in TYPES)]) for entry in given]
    data = (header(**TYPES) + "".join(f"{line}\n" for line in lines)).encode()
    rows, bad, _ = read(*(data[at : at + size] for at in range(0, len(data), size)))
    assert not bad
    assert [{name: row[name] for name in row if name in TYPES} for row in rows] == given


@given(st.lists(st.binary(max_size=60), max_size=4), st.booleans())
def test_any_bytes_are_stored_or_refused(chunks: list[bytes], headed: bool) -> None:
    data = header(n="count").encode() + b"".join(chunks) if headed else b"".join(chunks)
    rows, bad, skipped = read(data)
    assert len(rows) + len(bad) + skipped == data.count(b"\n") + (not data.endswith(b"\n") and bool(data))
