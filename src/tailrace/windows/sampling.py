"""Weighted sampling as SQL: the same rows, bit for bit, from Spark and DuckDB, however the rows are spread.

Priority sampling (Duffield, Lund, Thorup 2007). Every item has a number u between 0 and 1 that is made from its
identity and the seed, and a rank u / weight. The k smallest ranks are kept; τ is the next one. An item then stands for
max(weight, 1/τ), which is unbiased for every sum over every subset that was chosen without looking at u. With k items
or fewer there is no τ, and every item stands for its own weight.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

LARGEST = 99_999
"Engines keep one more, and Spark's `min_by` at most 100,000."
_MASK = 2**32 - 1
_FACTORS = (569420461, 1935289751)
_MANY = 64
"Partitions whose salts are written out: to look for one among many costs more than to compute it."
_PLAIN = re.compile(r"[\w .:-]+")
"Partitions that are written alike in every dialect."
LATER = "wrs_parts"
"Stands for partitions that are not known yet, where a query is prepared."
PREFIX = "wrs_"
"Of the columns that the sampler adds to its input."
_KEPT = PREFIX + "group{}"
"What an item calls a column of its group."


@dataclass(frozen=True, slots=True)
class Sampling:
    """How items are drawn."""

    seed: int = 0
    invalid_weight: str = "one"
    "`one`: a weight that is not finite and positive counts as 1; `drop`: its item is left out; `fail`: it is an error."
    uniform: bool = False
    "Do all weights count as 1?"
    counted: bool = False
    "Is there a function `wrs_invalid` that sees what counts as 1 though it was given?"
    parts: tuple[str, ...] = ()
    "Partitions that are known: their salts need not be computed for every row."


@dataclass(frozen=True, slots=True)
class Dialect:
    """How an engine writes what the two write differently."""

    name: str
    xor: str
    shift: str
    hexadecimal: str
    "A whole number from the first 15 digits of a text."
    salt: str
    "A number of 64 bits from the first 16 digits of a text."
    bits: str
    "The type of that number."
    signed: bool
    text: str
    is_text: str
    infinity: str
    double: str
    struct_open: str
    struct_pair: str
    struct_close: str
    fail: str
    materialized: bool

    def struct(self, pairs: list[tuple[str, str]]) -> str:
        inner = ", ".join(self.struct_pair.format(name=name, value=value) for name, value in pairs)
        return f"{self.struct_open}{inner}{self.struct_close}"


DUCKDB = Dialect(
    "duckdb", "xor({a}, {b})", "({a} >> {n})", "CAST('0x' || substr({a}, 1, 15) AS BIGINT)",
    "CAST('0x' || substr({a}, 1, 16) AS UBIGINT)", "UBIGINT", False, "VARCHAR",
    "typeof({a}) = 'VARCHAR'", "CAST('Infinity' AS DOUBLE)", "CAST({a} AS DOUBLE)", "{", "'{name}': {value}", "}",
    "error('{message}')", True,
)  # fmt: skip
SPARK = Dialect(
    "spark", "({a} ^ {b})", "shiftright({a}, {n})", "CAST(conv(substr({a}, 1, 15), 16, 10) AS BIGINT)",
    "CAST(conv(substr({a}, 1, 16), 16, -10) AS BIGINT)", "BIGINT", True, "STRING",
    "typeof({a}) = 'string'", "double('Infinity')", "double({a})", "named_struct(", "'{name}', {value}", ")",
    "raise_error('{message}')", False,
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Call:
    """`weighted_reservoir_sample(STRUCT(id, …, weight), k)`, its arguments as text of the engine."""

    number: int
    fields: tuple[tuple[str, str], ...]
    "Name and expression of what identifies an item, its id first."
    weight: str
    part_id: str | None
    size: int
    groups: tuple[str, ...] = ()
    "Columns of GROUP BY, where numbers stand for them: Spark finds a group by these faster than by texts."

    @property
    def numbers(self) -> tuple[str, str]:
        """The names of those: two hashes, 96 bits together."""
        return self.column("g"), self.column("h")

    def column(self, name: str) -> str:
        """One that is added to the input."""
        return f"{PREFIX}{self.number}_{name}"


def widened(source: str, alias: str, call: Call, sampling: Sampling, dialect: Dialect) -> str:
    """The input with weight and rank of every row.

    One query around the other: where a column refers to another of the same query, DuckDB puts in the whole of it, and
    what refers to itself twice in every step grows without bound. So it does where DuckDB moves filters through them,
    hence the rows are taken first. Each query more has to be planned, which costs Spark as much as some ten thousand
    rows do: there are as few as that leaves.
    """
    rows = f"{PREFIX}{call.number}_rows"
    if dialect.materialized:
        source = f"(WITH {rows} AS MATERIALIZED ({source}) SELECT * FROM {rows}) AS {alias}"
    else:
        source = f"({source}) AS {alias}"
    for columns in _Widening(call, sampling, dialect).steps():
        told = ", ".join(f"{text} AS {call.column(name)}" for name, text in columns.items())
        source = f"(SELECT *, {told} FROM {source}) AS {alias}"
    return source


@dataclass(frozen=True, slots=True)
class _Widening:
    """What is added to the input of a call, as text by name."""

    call: Call
    sampling: Sampling
    dialect: Dialect

    def steps(self) -> Iterator[dict[str, str]]:
        """Columns that are made at once; they refer to those of earlier steps."""
        call, sampling, dialect = self.call, self.sampling, self.dialect
        first, part = {"id": self._id(), "given": self._given()}, ""
        if call.groups:
            first |= {"g": _hashed(call.groups, "xxhash64"), "h": _hashed(call.groups, "hash")}
        if dialect is SPARK and call.part_id is not None and sampling.parts:
            # Numbers are compared faster than texts.
            first["p"], part = f"xxhash64(CAST({call.part_id} AS STRING))", call.column("p")
        yield first
        yield {"salt": _salt(call.part_id, sampling, dialect, part), "w": self._weight()}
        yield {"a": self._half(32), "b": self._half(0)}
        mixed, other = "a", "b"
        for turn in range(4):
            text = call.column(mixed)
            for shift, factor in zip((16, 15), _FACTORS, strict=True):
                text = f"(({self._folded(text, shift)} * {factor}) & {_MASK})"
            yield {f"m{turn}": text}
            last = self._folded(call.column(f"m{turn}"), 15)
            yield {f"x{turn}": last, f"y{turn}": dialect.xor.format(a=call.column(other), b=last)}
            mixed, other = f"y{turn}", f"x{turn}"
        low = dialect.shift.format(a=call.column(other), n=12)
        uniform = f"({dialect.double.format(a=f'({call.column(mixed)} * 1048576 + {low})')} + 0.5) / 4503599627370496.0"
        yield {"r": f"({uniform}) / {call.column('w')}"}
        if dialect is SPARK:
            # `min_by` makes the item of every row, which costs less where it is a column than as an expression.
            yield {"item": _item(call, dialect), "o": f"coalesce({call.column('r')}, double('NaN'))"}

    def _id(self) -> str:
        """The item as a number: itself, or made of its text where it is none, or has more than 64 bits."""
        identity = self.call.fields[0][1]
        hashed = self.dialect.hexadecimal.format(a=f"md5(CAST({identity} AS {self.dialect.text}))")
        is_text = self.dialect.is_text.format(a=identity)
        return f"coalesce(CASE WHEN NOT {is_text} THEN TRY_CAST({identity} AS BIGINT) END, {hashed})"

    def _half(self, shift: int) -> str:
        """32 bits of that number, with as many of the salt."""
        number, salt = self.call.column("id"), self.call.column("salt")
        if shift:
            number, salt = (self.dialect.shift.format(a=one, n=shift) for one in (number, salt))
        return self.dialect.xor.format(a=f"({number} & {_MASK})", b=f"CAST(({salt} & {_MASK}) AS BIGINT)")

    def _folded(self, text: str, shift: int) -> str:
        return self.dialect.xor.format(a=text, b=self.dialect.shift.format(a=text, n=shift))

    def _given(self) -> str:
        one = self.dialect.double.format(a="1")
        return one if self.sampling.uniform else f"TRY_CAST({self.call.weight} AS DOUBLE)"

    def _weight(self) -> str:
        """What is given, where it is a weight."""
        given, one = self.call.column("given"), self.dialect.double.format(a="1")
        otherwise = (
            f"CASE WHEN {given} IS NULL THEN {one} ELSE wrs_invalid({given}) END" if self.sampling.counted else one
        )
        if self.sampling.invalid_weight == "drop":
            otherwise = "NULL"
        elif self.sampling.invalid_weight == "fail":
            message = f"a weight of weighted_reservoir_sample is not finite and positive: {self.call.weight}"
            failed = self.dialect.fail.format(message=message.replace("'", "''"))
            otherwise = f"CASE WHEN {given} IS NULL THEN {one} ELSE CAST({failed} AS DOUBLE) END"
        return f"CASE WHEN ({given} > 0 AND {given} < {self.dialect.infinity}) THEN {given} ELSE {otherwise} END"


def _item(call: Call, dialect: Dialect) -> str:
    """What is kept of a row that may be drawn."""
    groups = [(_KEPT.format(place), name) for place, name in enumerate(call.groups)]
    return dialect.struct([*call.fields, ("input_weight", call.column("w")), ("r", call.column("r")), *groups])


def _hashed(groups: tuple[str, ...], function: str) -> str:
    """What identifies a group as a number, on Spark. Nulls are told apart, which hashes themselves leave out."""
    numbers = [
        f"""CASE WHEN typeof({name}) LIKE '%<%'
        THEN {function}(to_json(struct({name}), map('ignoreNullFields', 'false')))
        ELSE {function}({name}, isnull({name})) END"""
        for name in groups
    ]
    return numbers[0] if len(numbers) == 1 else f"{function}({', '.join(numbers)})"


def _salt(part_id: str | None, sampling: Sampling, dialect: Dialect, number: str = "") -> str:
    """What the partition adds to the numbers of its items; `number` is a column with its hash, if there is one."""
    if part_id is None:
        return _literal(sampling.seed, "", dialect)
    part = f"CAST({part_id} AS {dialect.text})"
    made = dialect.salt.format(a=f"md5(concat('{sampling.seed}', '|', coalesce({part}, '')))")
    known = known_salts(sampling.seed, sampling.parts, dialect, "xxhash64('{}')" if number else "'{}'")
    found = f"CASE {number or part} {known} ELSE {made} END" if known else made
    # Never null; where Spark knows it asks it of no number that is made with it.
    return f"coalesce({found}, 0)" if dialect.name == "spark" else found


def known_salts(seed: int, parts: Iterable[str], dialect: Dialect, named: str = "'{}'") -> str:
    """Those of partitions that are known, as branches; others are computed."""
    plain = [part for part in parts if _PLAIN.fullmatch(part)][:_MANY]
    return " ".join(f"WHEN {named.format(part)} THEN {_literal(seed, part, dialect)}" for part in plain)


def _literal(seed: int, part_id: str, dialect: Dialect) -> str:
    digest = hashlib.md5(f"{seed}|{part_id}".encode()).digest()
    return f"CAST('{int.from_bytes(digest[:8], 'big', signed=dialect.signed)}' AS {dialect.bits})"


def aggregate(call: Call, dialect: Dialect, over: str = "") -> str:
    """A list of the items that were drawn, with what each stands for."""
    names = [name for name, _ in call.fields]
    drawn = (_least_on_spark if dialect.name == "spark" else _least)(call, names[0], over)
    tau, one = ("get(a, {k}).r" if dialect.name == "spark" else "a[{k1}].r"), dialect.double.format(a="1")
    tau = tau.format(k=call.size, k1=call.size + 1)
    adjusted = f"greatest(x.input_weight, {one} / {tau})"
    count = f"greatest({one}, {one} / ({tau} * x.input_weight))"
    variance = f"coalesce(({one} / {tau}) * greatest({one} - {one}, {one} / {tau} - x.input_weight), {one} - {one})"
    told = [(name, f"x.{name}") for name in (*names, "input_weight")]
    value = dialect.struct([*told, ("adjusted_weight", adjusted), ("adjusted_count", count), ("variance", variance)])
    element = dialect.struct([("value", value), ("adjusted_weight", adjusted)])
    if dialect.name == "spark":
        inner = f"a -> transform(slice(a, 1, {call.size}), x -> {element})"
        return f"element_at(transform(array({drawn}), {inner}), 1)"
    inner = f"lambda a: list_transform(a[1:{call.size}], lambda x: {element})"
    return f"list_transform([{drawn}], {inner})[1]"


def _least(call: Call, identity: str, over: str) -> str:
    """The items with the smallest ranks, in order; of equal ranks the smallest id comes first."""
    rank = call.column("r")
    order = DUCKDB.struct([("r", rank), (identity, call.fields[0][1])])
    # An item whose rank is null is none: weights that are dropped have such ranks.
    return f"min_by({_item(call, DUCKDB)}, CASE WHEN {rank} IS NOT NULL THEN {order} END, {call.size + 1}){over}"


def _least_on_spark(call: Call, identity: str, over: str) -> str:
    """The same. Spark compares numbers much faster than structs, so that equal ranks are put in order afterwards.

    `min_by` alone makes Spark sort all rows by group. A list beside it, which is always empty, makes it look up the
    group of a row by hash instead.
    """
    drawn = _drawn_on_spark(call, over)
    are_some = f"size(collect_list(CAST(NULL AS INT)){over}) = 0 AND element_at({drawn}, 1).r IS NOT NULL"
    unsorted = f"if({are_some}, filter({drawn}, x -> x.r IS NOT NULL), NULL)"
    ranks = "WHEN p.r < q.r THEN -1 WHEN p.r > q.r THEN 1"
    ids = f"WHEN p.{identity} < q.{identity} THEN -1 WHEN p.{identity} > q.{identity} THEN 1"
    return f"array_sort({unsorted}, (p, q) -> CASE {ranks} {ids} ELSE 0 END)"


def group_value(call: Call, place: int) -> str:
    """A column of the group on Spark: the first item has it. To keep the first of a text costs a copy for every row."""
    return f"element_at({_drawn_on_spark(call)}, 1).{_KEPT.format(place)}"


def _drawn_on_spark(call: Call, over: str = "") -> str:
    """Items with the smallest ranks; behind all others come those that are none, so that no group is without one."""
    return f"min_by({call.column('item')}, {call.column('o')}, {call.size + 1}){over}"
