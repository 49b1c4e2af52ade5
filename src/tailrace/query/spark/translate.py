"""A select of DuckDB's as one of Spark's, which gives the same rows.

DuckDB has bound the statement before, so that all names in it exist. sqlglot then says what every name means and of
which type every part is, our rules change what the two understand differently, and sqlglot writes it down. What no rule
knows is refused: an answer that may be another one is worse than none.
"""

from __future__ import annotations

from collections.abc import Mapping

from sqlglot import exp
from sqlglot.errors import ErrorLevel, SqlglotError
from sqlglot.optimizer.annotate_types import annotate_types
from sqlglot.optimizer.qualify import qualify
from sqlglot.schema import MappingSchema

from tailrace.query.networks import WITHIN
from tailrace.query.spark import epochs, jsons, lists, numbers, selects, texts, times
from tailrace.query.spark.building import Expression, Rule, kind_of
from tailrace.query.spark.dialect import Asked, parse
from tailrace.query.spark.refusal import refused
from tailrace.query.spark.tables import Resolve, columns_of, rename

RULES: dict[type[Expression], Rule] = {
    **jsons.RULES, **times.RULES, **epochs.RULES, **numbers.RULES, **texts.RULES, **lists.RULES,
}  # fmt: skip
FUNCTIONS: dict[str, Rule] = {
    **jsons.FUNCTIONS,
    **times.FUNCTIONS,
    **epochs.FUNCTIONS,
    **texts.FUNCTIONS,
    **lists.FUNCTIONS,
}
_WORDS = """
    bin bit_length char_length character_length corr covar_pop covar_samp cume_dist degrees dense_rank
    first_value format_string hypot instr lag last_value lead lpad ltrim make_date make_timestamp
    ntile nth_value octet_length percent_rank pi position radians rank regr_count repeat replace reverse row_number rpad
    rtrim sha1 split_part sqrt stddev_pop stddev_samp substr substring translate unhex upper var_pop
    var_samp
"""
SAME = frozenset(_WORDS.split())
"Functions that sqlglot does not know and that mean the same in both."
OTHER: tuple[type[Expression], ...] = (
    exp.Collate, exp.Columns, exp.Comprehension, exp.CurrentCatalog, exp.CurrentDatabase, exp.CurrentSchema,
    exp.CurrentUser, exp.CurrentVersion, exp.Format, exp.Glob, exp.JSONArray, exp.JSONObject, exp.Kurtosis,
    exp.SimilarTo, exp.Skewness, exp.TimeFromParts, exp.ToMap, exp.Unicode,
)  # fmt: skip
"Those that it knows and that mean something else there, or nothing."
_JOINS = frozenset({"ASOF", "POSITIONAL"})


def translate(sql: str, resolve: Resolve, views: Mapping[str, Mapping[str, str]]) -> str:
    """Spark's text; `views` are the columns of Spark's views with their types in DuckDB."""
    tree = parse(sql)
    rename(tree, resolve)
    try:
        known = MappingSchema(columns_of(views), dialect=Asked)
        typed = qualify(tree, dialect=Asked, schema=known, validate_qualify_columns=False, quote_identifiers=False)
        typed = annotate_types(typed, schema=known, dialect=Asked)
        changed = _rewritten(typed)
        return changed.sql(dialect="spark", unsupported_level=ErrorLevel.RAISE, identify=True)
    except SqlglotError as error:
        raise refused(str(error).splitlines()[0]) from None


def _rewritten(tree: Expression) -> Expression:
    """From the innermost parts outwards: each rule sees children that are Spark's and know what they were in DuckDB."""
    for node in reversed(list(tree.bfs())):
        changed = _changed(node)
        if changed is not node:
            if kind_of(changed) is None:
                changed.type = node.type
            if node is tree:
                tree = changed
            else:
                node.replace(changed)
    for select in reversed(list(tree.find_all(exp.Select))):
        selects.rewrite(select)
    return tree


def _changed(node: Expression) -> Expression:
    if isinstance(node, exp.Anonymous):
        name = str(node.this).lower()
        if name in FUNCTIONS:
            return FUNCTIONS[name](node)
        if name not in SAME and name != WITHIN:
            raise refused(f"it has no function {name}")
        return node
    if isinstance(node, OTHER) or (isinstance(node, exp.First | exp.Last) and isinstance(node.this, exp.Order)):
        raise refused(f"it has no {node.sql('duckdb')}")
    _require_known_rows(node)
    numbers.level(node)
    rule = RULES.get(type(node))
    return node if rule is None else rule(node)


def _require_known_rows(node: Expression) -> None:
    """Ways of putting rows together that DuckDB alone has."""
    if isinstance(node, exp.Join) and node.method in _JOINS:
        raise refused(f"it has no {node.method.lower()} join")
    if isinstance(node, exp.SetOperation) and node.args.get("by_name"):
        raise refused(f"it has no {node.key} by name")
    # Of what there is none of, Spark counts null; rows that become columns are not counted.
    if isinstance(node, exp.Pivot) and (node.this is not None or not node.args.get("unpivot")):
        raise refused("it has no pivot beside other parts of a statement")
