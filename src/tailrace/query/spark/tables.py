"""What a statement reads: tables of the lake under the names that Spark has for them, series and lists as rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from sqlglot import exp

from tailrace.query.spark.building import Expression
from tailrace.query.spark.refusal import refused

Resolve = Callable[[str | None, str], str | None]
"Schema, if one is named, and table → the name of Spark's view."


def rename(tree: exp.Query, resolve: Resolve) -> None:
    """Every table of the lake; one that is none cannot be read by Spark."""
    for table in list(tree.find_all(exp.Table)):
        if isinstance(table.this, exp.Func):
            _make_rows(table)
        elif not _is_common(table):
            _rename(table, resolve)
    for unnest in list(tree.find_all(exp.Unnest)):
        _name_columns(unnest)


def _rename(table: exp.Table, resolve: Resolve) -> None:
    view = resolve(table.db or None, table.name)
    if view is None:
        name = ".".join(part for part in (table.catalog, table.db, table.name) if part)
        raise refused(f"'{name}' is no table of the lake")
    alias = table.args.get("alias") or exp.TableAlias(this=exp.to_identifier(table.name, quoted=True))
    for part in ("catalog", "db"):
        table.set(part, None)
    table.set("this", exp.to_identifier(view, quoted=True))
    table.set("alias", alias)


def _is_common(table: exp.Table) -> bool:
    """Is it a `with` of the statement? Inside of its own definition the name means the table."""
    if table.db:
        return False
    name = table.name.lower()
    below: Expression = table
    above = table.parent
    while above is not None:
        clause = above if isinstance(above, exp.With) else above.args.get("with_")
        if isinstance(clause, exp.With) and clause is not below:
            within = below if clause is above else None
            if _visible(clause, within, name):
                return True
        below, above = above, above.parent
    return False


def _visible(clause: exp.With, within: Expression | None, name: str) -> bool:
    for common in clause.expressions:
        is_own = common is within
        if common.alias.lower() == name and (not is_own or clause.recursive):
            return True
        if is_own:
            return False
    return False


def _make_rows(table: exp.Table) -> None:
    """`generate_series(1, 3) as i` in FROM: a list that becomes rows."""
    made = table.this
    if not isinstance(made, exp.GenerateSeries):
        raise refused(f"{made.sql('duckdb').partition('(')[0].lower()} is no table of the lake")
    alias = table.args.get("alias")
    name = "range" if made.args.get("is_end_exclusive") else "generate_series"
    rows = exp.Unnest(expressions=[made.copy()], alias=_alias(alias, name))
    table.replace(rows)
    _rename_column(rows, alias, name)


def _name_columns(unnest: exp.Unnest) -> None:
    """The column of `unnest(x) as u` is called `u`, and `unnest` too."""
    alias = unnest.args.get("alias")
    if isinstance(unnest.parent, exp.Lateral):
        alias = unnest.parent.args.get("alias")
        unnest.parent.replace(unnest)
    if alias is None or not alias.columns:
        unnest.set("alias", _alias(alias, "unnest"))
        _rename_column(unnest, alias, "unnest")
    else:
        unnest.set("alias", alias)


def _alias(given: exp.TableAlias | None, name: str) -> exp.TableAlias:
    if given is not None and given.columns:
        return given
    called = given.this if given is not None and given.this is not None else exp.to_identifier(name)
    return exp.TableAlias(this=called.copy(), columns=[called.copy()])


def _rename_column(node: Expression, alias: exp.TableAlias | None, name: str) -> None:
    select = node.find_ancestor(exp.Select)
    if select is None or alias is None or alias.this is None or alias.columns:
        return
    for column in list(select.find_all(exp.Column)):
        if column.table.lower() == alias.name.lower() and column.name.lower() == name:
            column.set("this", alias.this.copy())


def columns_of(views: Mapping[str, Mapping[str, str]]) -> dict[str, object]:
    """For sqlglot: names in small letters, as it folds them."""
    return {view: {name.lower(): kind for name, kind in columns.items()} for view, columns in views.items()}
