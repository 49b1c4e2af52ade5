"""Weighted sampling as SQL: the same rows, bit for bit, from Spark and DuckDB, however the rows are spread.

Priority sampling (Duffield, Lund, Thorup 2007). Every item has a number u between 0 and 1 that is made from its
identity and the seed, and a rank u / weight. The k smallest ranks are kept; τ is the next one. An item then stands for
max(weight, 1/τ), which is unbiased for every sum over every subset that was chosen without looking at u. With k items
or fewer there is no τ, and every item stands for its own weight.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable
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
        return f"{PREFIX}{self.number}_g", f"{PREFIX}{self.number}_h"


def widened(source: str, alias: str, call: Call, sampling: Sampling, dialect: Dialect) -> str:
    """The input with weight and rank of every row.

    One query around the other, a column each: where a column refers to another of the same query, DuckDB puts in the
    whole of it, and what refers to itself twice in every step grows without bound. So it does where DuckDB moves
    filters through them, hence the rows are taken first.
    """
    rows = f"{PREFIX}{call.number}_rows"
    if dialect.materialized:
        source = f"(WITH {rows} AS MATERIALIZED ({source}) SELECT * FROM {rows}) AS {alias}"
    else:
        source = f"({source}) AS {alias}"
    for name, text in _columns(call, sampling, dialect):
        source = f"(SELECT *, {text} AS {name} FROM {source}) AS {alias}"
    return source


def _columns(call: Call, sampling: Sampling, dialect: Dialect) -> list[tuple[str, str]]:
    """What is added to the input, in order; later ones refer to earlier ones."""
    found: list[tuple[str, str]] = []

    def add(name: str, text: str) -> str:
        found.append((f"{PREFIX}{call.number}_{name}", text))
        return found[-1][0]

    if call.groups:
        add("g", _hashed(call.groups, "xxhash64"))
        add("h", _hashed(call.groups, "hash"))
    part = ""
    if dialect.name == "spark" and call.part_id is not None and sampling.parts:
        # Numbers are compared faster than texts.
        part = add("p", f"xxhash64(CAST({call.part_id} AS STRING))")
    salt = add("salt", _salt(call.part_id, sampling, dialect, part))
    identity = call.fields[0][1]
    whole = f"TRY_CAST({identity} AS BIGINT)"
    hashed = dialect.hexadecimal.format(a=f"md5(CAST({identity} AS {dialect.text}))")
    number = add("id", f"CASE WHEN {dialect.is_text.format(a=identity)} THEN {hashed} ELSE {whole} END")
    lanes = []
    for lane in "ab":
        half, salted = (
            f"({dialect.shift.format(a=one, n=32)} & {_MASK})" if lane == "a" else f"({one} & {_MASK})"
            for one in (number, salt)
        )  # fmt: skip
        lanes.append(add(f"{lane}0", dialect.xor.format(a=half, b=f"CAST({salted} AS BIGINT)")))
    for turn in range(4):
        mixed, other = lanes[turn % 2], lanes[(turn + 1) % 2]
        for step, (shift, factor) in enumerate(zip((16, 15), _FACTORS, strict=True)):
            folded = dialect.xor.format(a=mixed, b=dialect.shift.format(a=mixed, n=shift))
            mixed = add(f"m{turn}{step}", f"(({folded} * {factor}) & {_MASK})")
        mixed = add(f"x{turn}", dialect.xor.format(a=mixed, b=dialect.shift.format(a=mixed, n=15)))
        lanes[turn % 2] = mixed
        lanes[(turn + 1) % 2] = add(f"y{turn}", dialect.xor.format(a=other, b=mixed))
    high, low = lanes
    _ranked(call, sampling, dialect, add, f"({high} * 1048576 + {dialect.shift.format(a=low, n=12)})")
    return found


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
    return f"CASE {number or part} {known} ELSE {made} END" if known else made


def known_salts(seed: int, parts: Iterable[str], dialect: Dialect, named: str = "'{}'") -> str:
    """Those of partitions that are known, as branches; others are computed."""
    plain = [part for part in parts if _PLAIN.fullmatch(part)][:_MANY]
    return " ".join(f"WHEN {named.format(part)} THEN {_literal(seed, part, dialect)}" for part in plain)


def _literal(seed: int, part_id: str, dialect: Dialect) -> str:
    digest = hashlib.md5(f"{seed}|{part_id}".encode()).digest()
    return f"CAST('{int.from_bytes(digest[:8], 'big', signed=dialect.signed)}' AS {dialect.bits})"


def _ranked(call: Call, sampling: Sampling, dialect: Dialect, add: Callable[[str, str], str], bits: str) -> None:
    """Weight and rank."""
    uniform = f"({dialect.double.format(a=bits)} + 0.5) / 4503599627370496.0"
    one = dialect.double.format(a="1")
    given = one if sampling.uniform else add("given", f"TRY_CAST({call.weight} AS DOUBLE)")
    valid = f"({given} > 0 AND {given} < {dialect.infinity})"
    otherwise = f"CASE WHEN {given} IS NULL THEN {one} ELSE wrs_invalid({given}) END" if sampling.counted else one
    if sampling.invalid_weight == "drop":
        otherwise = "NULL"
    elif sampling.invalid_weight == "fail":
        message = f"a weight of weighted_reservoir_sample is not finite and positive: {call.weight}"
        failed = dialect.fail.format(message=message.replace("'", "''"))
        otherwise = f"CASE WHEN {given} IS NULL THEN {one} ELSE CAST({failed} AS DOUBLE) END"
    weight = add("w", f"CASE WHEN {valid} THEN {given} ELSE {otherwise} END")
    add("r", f"({uniform}) / {weight}")


def aggregate(call: Call, dialect: Dialect, over: str = "") -> str:
    """A list of the items that were drawn, with what each stands for."""
    at = f"{PREFIX}{call.number}_"
    item = dialect.struct([*call.fields, ("input_weight", f"{at}w"), ("r", f"{at}r")])
    names = [name for name, _ in call.fields]
    drawn = (_least_on_spark if dialect.name == "spark" else _least)(call, item, names[0], over)
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


def _least(call: Call, item: str, identity: str, over: str) -> str:
    """The items with the smallest ranks, in order; of equal ranks the smallest id comes first."""
    rank = f"{PREFIX}{call.number}_r"
    order = DUCKDB.struct([("r", rank), (identity, call.fields[0][1])])
    # An item whose rank is null is none: weights that are dropped have such ranks.
    return f"min_by({item}, CASE WHEN {rank} IS NOT NULL THEN {order} END, {call.size + 1}){over}"


def _least_on_spark(call: Call, item: str, identity: str, over: str) -> str:
    """The same. Spark compares numbers much faster than structs, so that equal ranks are put in order afterwards.

    `min_by` alone makes Spark sort all rows by group. A list beside it, which is always empty, makes it look up the
    group of a row by hash instead.
    """
    drawn = f"min_by({item}, {PREFIX}{call.number}_r, {call.size + 1}){over}"
    unsorted = f"if(size(collect_list(CAST(NULL AS INT)){over}) = 0, {drawn}, NULL)"
    ranks = "WHEN p.r < q.r THEN -1 WHEN p.r > q.r THEN 1"
    ids = f"WHEN p.{identity} < q.{identity} THEN -1 WHEN p.{identity} > q.{identity} THEN 1"
    return f"array_sort({unsorted}, (p, q) -> CASE {ranks} {ids} ELSE 0 END)"
