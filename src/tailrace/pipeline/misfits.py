"""Values that computed columns were made from and that did not fit: kept in `tp_extra`, as those of other columns are.

An expression makes null of what it cannot cast, and of what is not there. Only rows on which it gave nothing though it
read something are asked about: with casts that raise, does it raise?
"""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from msgspec import Raw

from tailrace.core import Column
from tailrace.formats.json_notes import MISFIT
from tailrace.formats.json_struct import names_in
from tailrace.pipeline.lookups import Node, parsed, written
from tailrace.pipeline.questions import Given, Question

Mask = npt.NDArray[np.bool_]
Misfits = dict[int, dict[str, Any]]
"By row and column: what was sent, a text, or an object where the expression reads several fields."
_TRIES = re.compile(r"\btry", re.IGNORECASE)
_TEXT = "VARCHAR"
_OBJECT = msgspec.json.Decoder(dict[str, Raw])


@dataclass(frozen=True, slots=True)
class Attempt:
    """A computed column that may fail: its expression, its type in DuckDB, and the fields that nothing else keeps."""

    column: str
    sql: str
    kind: str
    fields: tuple[str, ...]

    def doubtful(self, given: Given, answers: pa.Table) -> Mask:
        """Rows on which the expression gave nothing though it read something."""
        found = np.zeros(given.table.num_rows, bool)
        silent = _nothing(answers[self.column].combine_chunks())
        if silent.any():
            for name in self._told(given):
                found |= silent & _something(given.table[name].combine_chunks())
        return found

    def failed(self, given: Given, doubtful: Mask) -> Mask:
        """Those of the rows on which something did not fit."""
        question = Question({self.column: strict(self.sql, self.kind)}, "")
        if question.complaint(given.only(slice(0))) is not None:  # it says nothing of the values
            return np.zeros(len(doubtful), bool)
        failed = doubtful.copy()
        failed[doubtful] = ~question.fine(given.only(doubtful))
        return failed

    def sent(self, given: Given, row: int) -> Any:
        """What the expression has read in a row."""
        values = {name: given.table[key][row].as_py() for key, name in self._told(given).items()}
        told = {name: value for name, value in values.items() if value not in (None, "")}
        return next(iter(told.values())) if len(told) == 1 else told

    def _told(self, given: Given) -> dict[str, str]:
        """The fields that any row has: names in the table, and as the expression spells them."""
        return {name.lower(): name for name in self.fields if name.lower() in given.table.column_names}


def attempts(columns: Iterable[Column], expressions: Mapping[str, tuple[str, str]]) -> list[Attempt]:
    """The computed columns of which a value may be lost."""
    stored = {name.lower() for c in columns if c.sql is None for name in (c.name, c.src) if name}
    found = []
    for column, (sql, kind) in expressions.items():
        if kind == _TEXT and not _TRIES.search(sql):
            continue
        fields = tuple(dict.fromkeys(name for name in names_in(sql) if name.lower() not in stored))
        found += [Attempt(column, sql, kind, fields)] if fields else []
    return found


def misfits(tried: Iterable[Attempt], given: Given, answers: pa.Table) -> Misfits:
    """What did not fit, of all rows."""
    doubts = [(attempt, attempt.doubtful(given, answers)) for attempt in tried]
    doubts = [(attempt, rows) for attempt, rows in doubts if rows.any()]
    found: Misfits = {}
    if not doubts or _all_fine(given, doubts):
        return found
    for attempt, doubtful in doubts:
        for row in np.flatnonzero(attempt.failed(given, doubtful)).tolist():
            found.setdefault(row, {})[attempt.column] = attempt.sent(given, row)
    return found


def _all_fine(given: Given, doubts: list[tuple[Attempt, Mask]]) -> bool:
    """All of them in one question, which looks into a document once: in nearly every batch nothing raises."""
    some = np.logical_or.reduce([rows for _, rows in doubts])
    asked, table = {}, given.only(some).table
    for number, (attempt, rows) in enumerate(doubts):
        doubt = f"tailrace doubt {number}"
        table = table.append_column(doubt, pa.array(rows[some]))
        asked[attempt.column] = f'CASE WHEN "{doubt}" THEN {strict(attempt.sql, attempt.kind)} END'
    return not Question(asked, "").raises(Given(table, given.silent))


def told(extra: pa.Array | None, found: Misfits, rows: int) -> tuple[pa.Array, Mask]:
    """`tp_extra` with the misfits, and the rows that had none before."""
    extra = pa.nulls(rows, pa.string()) if extra is None else extra
    places = sorted(found)
    mask, fresh = np.zeros(rows, bool), np.zeros(rows, bool)
    mask[places] = True
    texts = []
    for row, text in zip(places, extra.filter(pa.array(mask)).to_pylist(), strict=True):
        tree: dict[str, Any] = _OBJECT.decode(text) if text else {}
        fresh[row] = MISFIT not in tree
        earlier = _OBJECT.decode(tree[MISFIT]) if MISFIT in tree else {}
        texts.append(msgspec.json.encode({**tree, MISFIT: {**found[row], **earlier}}, order="sorted").decode())
    return pc.replace_with_mask(extra, pa.array(mask), pa.array(texts, pa.string())), fresh


@cache
def strict(sql: str, kind: str) -> str:
    """The expression with casts that raise, except on an empty text, which is nothing."""
    tree = parsed(f"SELECT ({sql}\n)")
    text = sql
    if not tree["error"]:
        nodes = tree["statements"][0]["node"]["select_list"]
        nodes[0] = _strict(nodes[0])
        text = written(tree).removeprefix("SELECT ")
    return text if kind == _TEXT else f"CASE WHEN CAST(({text}\n) AS VARCHAR) <> '' THEN CAST(({text}\n) AS {kind}) END"


def _strict(value: Any) -> Any:
    if isinstance(value, list):
        return [_strict(inner) for inner in value]
    if not isinstance(value, dict):
        return value
    node = {name: _strict(inner) for name, inner in value.items()}
    if node.get("type") == "OPERATOR_TRY":
        return node["children"][0]
    if node.get("class") == "CAST" and node["try_cast"]:
        return _unless_empty({**node, "try_cast": False}, node["child"])
    if node.get("function_name") == "try_strptime":
        named = {"function_name": "strptime"}
        if "qualified_name" in node:
            named["qualified_name"] = json.loads(json.dumps(node["qualified_name"]).replace("try_strptime", "strptime"))
        return _unless_empty({**node, **named}, node["arguments"][0]["expression"])
    return node


def _unless_empty(node: Node, read: Node) -> Node:
    """The node where what it reads is not empty, else null."""
    tree = parsed("SELECT CASE WHEN CAST(a AS VARCHAR) <> '' THEN b END")
    (case,) = tree["statements"][0]["node"]["select_list"]
    check = case["case_checks"][0]
    check["when_expr"]["left"]["child"] = copy.deepcopy(read)
    check["then_expr"] = node
    chosen: Node = case
    return chosen


def _nothing(array: pa.Array) -> Mask:
    """Rows without a value, or with an object of nothing but such."""
    absent: Mask = array.is_null().to_numpy(zero_copy_only=False, writable=True)
    if pa.types.is_struct(array.type) and array.type.num_fields:
        absent |= np.logical_and.reduce([_nothing(inner) for inner in array.flatten()])
    return absent


def _something(array: pa.Array) -> Mask:
    """Rows with a value that is no empty text."""
    valid: Mask = array.is_valid().to_numpy(zero_copy_only=False)
    if pa.types.is_string(array.type):
        valid = valid & pc.not_equal(pc.binary_length(array), 0).fill_null(False).to_numpy(zero_copy_only=False)
    return valid
