"""DuckDB's SQL as sqlglot reads it here: paths of JSON stay as they are written, and networks have their operator."""

from __future__ import annotations

from typing import Any, ClassVar

from sqlglot import exp
from sqlglot.dialects.duckdb import DuckDB
from sqlglot.errors import ParseError, TokenError
from sqlglot.parsers.duckdb import DuckDBParser
from sqlglot.tokenizer_core import TokenType

from tailrace.query.networks import SIGN, WITHIN
from tailrace.query.spark.building import whole
from tailrace.query.spark.refusal import refused

_WITHIN = TokenType.QMARK_AMP
"A token that DuckDB's SQL does not have."


class Asked(DuckDB):
    """What people write."""

    EXPRESSION_METADATA = {  # noqa: RUF012 (as sqlglot declares it)
        **DuckDB.EXPRESSION_METADATA,
        exp.Literal: {"annotator": lambda self, e: _set_literal(self, e)},
        exp.ArrayFilter: {"annotator": lambda self, e: self._annotate_by_args(e, "this")},
        exp.JSONExtract: {"returns": exp.DType.JSON},
        exp.JSONExtractScalar: {"returns": exp.DType.VARCHAR},
        exp.JSONKeys: {"annotator": lambda self, e: _set(self, e, "VARCHAR[]")},
        exp.FromJson: {"annotator": lambda self, e: _set(self, e, "JSON[]")},
        exp.ParseJSON: {"returns": exp.DType.JSON},
    }

    class Tokenizer(DuckDB.Tokenizer):
        KEYWORDS: ClassVar = {**DuckDB.Tokenizer.KEYWORDS, SIGN: _WITHIN}

    class Parser(DuckDBParser):
        # `f(x -> 'a')` is about JSON: DuckDB writes lambdas with the word.
        LAMBDAS: ClassVar = {sign: make for sign, make in DuckDBParser.LAMBDAS.items() if sign != TokenType.ARROW}
        RANGE_PARSERS: ClassVar = {
            **DuckDBParser.RANGE_PARSERS,
            _WITHIN: lambda self, this: exp.Anonymous(this=WITHIN, expressions=[this, self._parse_bitwise()]),
        }

    def to_json_path(self, path: exp.Expr | None) -> exp.Expr | None:
        """As it is: sqlglot takes `'a.b'` for two keys, which is one."""
        return path


def _set(self: Any, expression: exp.Expr, kind: str) -> exp.Expr:
    self._set_type(expression, exp.DataType.build(kind, dialect="duckdb"))
    return expression


def _set_literal(self: Any, literal: exp.Expr) -> exp.Expr:
    """`2.5` is no real number, unlike `25e-1`."""
    is_exact = not literal.is_string and "." in literal.name and "e" not in literal.name.lower()
    self._set_type(literal, exp.DType.DECIMAL) if is_exact else self._annotate_literal(literal)
    return literal


def parse(sql: str) -> exp.Query:
    """One statement that DuckDB has understood already."""
    try:
        (tree,) = (found for found in Asked().parse(sql) if found is not None)
    except (ParseError, TokenError, ValueError) as error:
        raise refused(f"its SQL is not understood ({str(error).splitlines()[0]})") from None
    if not isinstance(tree, exp.Query):
        raise refused("it is no plain select")
    return tree


def most_rows(sql: str) -> int | None:
    """What `limit` leaves of an answer, where it is written down."""
    limit = parse(sql).args.get("limit")
    return whole(limit.expression) if isinstance(limit, exp.Limit) else None
