"""Runs published queries against a lake, unchanged, and tells how many run and why the others do not.

    python tools/run_queries.py FOLDER… --home HOME [--engine spark] [--failures]

Folders may hold `.sql` files, Markdown pages with SQL blocks, and mods (`.pp`). Queries about tables that Tailrace does
not have are counted apart. With `--engine spark` each query that DuckDB runs is run by Spark too, and has to give the
same rows; `--resume FILE` keeps what was found out, so that a long run can be cut into pieces (`--seconds`).
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path

from compared_rows import MISSING, counted, difference
from published_queries import Query, queries_in

from tailrace.cli.options import Context
from tailrace.cli.settings import all_tables, load_config
from tailrace.core import TailraceError
from tailrace.lake.paths import Lake
from tailrace.query.engine import Engine

RAN, FAILED, OTHER = "ran", "failed", "other table"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a query."""

    query: Query
    state: str
    rows: int = 0
    reason: str = ""


def run(engine: Engine, query: Query, other: Engine | None = None) -> Outcome:
    """Every statement of the query, and all of its rows; another engine has to give the same ones."""
    try:
        answers = [counted(result.rows) for result in engine.run(query.sql)]
    except TailraceError as error:
        missing = "Table with name" in error.message and "does not exist" in error.message
        return Outcome(query, OTHER if missing else FAILED, reason=error.message.partition("\n")[0])
    if query.problem or not answers:
        return Outcome(query, FAILED, reason=query.problem or "there is no statement in it")
    reason = _compared(answers, other, query) if other is not None else ""
    if reason and other is not None and MISSING in reason and " limit " in f" {query.sql.lower()} ".replace("\n", " "):
        unlimited = replace(query, sql=_without_limit(query.sql))
        if run(engine, unlimited, other).state == RAN:
            reason = ""
    return Outcome(query, FAILED if reason else RAN, sum(answer.total() for answer in answers), reason)


def _compared(answers: list[Counter[str]], other: Engine, query: Query) -> str:
    """Why the other engine does not give the same; empty where it does."""
    try:
        others = [counted(result.rows) for result in other.run(query.sql)]
    except TailraceError as error:
        return error.message.partition("\n")[0]
    found = (difference(first, second) for first, second in zip(answers, others, strict=True))
    return next(filter(None, found), "")


def _without_limit(sql: str) -> str:
    """Where several rows are equal in the order, either may be the last that a limit lets through."""
    from sqlglot import exp, parse_one

    tree = parse_one(sql, read="duckdb")
    for node in (tree, *tree.find_all(exp.Select)):
        node.set("limit", None)
    return tree.sql(dialect="duckdb")


def told(outcomes: list[Outcome], folders: list[Path]) -> str:
    """A line per folder: queries, how many of them ran, found rows, failed."""
    lines = [
        "| folder | queries | run | with rows | fail | share | about other tables |",
        "|---|--:|--:|--:|--:|--:|--:|",
    ]
    for folder in [*folders, None]:
        inner = [o for o in outcomes if folder is None or folder in (o.query.file, *o.query.file.parents)]
        count = Counter(outcome.state for outcome in inner)
        asked = count[RAN] + count[FAILED]
        share = f"{100 * count[RAN] / asked:.1f} %" if asked else ""
        found = sum(outcome.rows > 0 for outcome in inner)
        name = folder.name if folder else "**all**"
        lines.append(f"| {name} | {asked} | {count[RAN]} | {found} | {count[FAILED]} | {share} | {count[OTHER]} |")
    return "\n".join(lines)


def engine_of(home: Path) -> Engine:
    """As `tailrace query` makes it."""
    context = Context(home=str(home))
    return Engine(Lake(context.home_path, context.workspace_name), lambda: all_tables(load_config(context)))


@contextmanager
def spark_engine_of(home: Path) -> Iterator[Engine]:
    """As `tailrace query --engine spark` makes it, for a lake of a few rows: nothing is compiled for them."""
    from tailrace.pipeline.session import SessionOptions, session
    from tailrace.query.spark.engine import SparkEngine

    context = Context(home=str(home))
    lake = Lake(context.home_path, context.workspace_name)
    few = {"spark.sql.shuffle.partitions": "1"}
    with session(SessionOptions(home=context.home_path, conf=few)) as spark:
        yield SparkEngine(lake, lambda: all_tables(load_config(context)), session=lambda: spark)


class Remembered:
    """Outcomes of earlier runs, by file, name and text of the query."""

    def __init__(self, file: Path | None) -> None:
        self.file = file
        self.found: dict[str, list[str]] = json.loads(file.read_text()) if file and file.exists() else {}

    def get(self, query: Query) -> Outcome | None:
        state, rows, reason = self.found.get(_key(query), ("", "", ""))
        return Outcome(query, state, int(rows), reason) if state else None

    def put(self, outcome: Outcome) -> None:
        self.found[_key(outcome.query)] = [outcome.state, str(outcome.rows), outcome.reason]
        if self.file is not None:
            self.file.write_text(json.dumps(self.found))


def _key(query: Query) -> str:
    return f"{query.file}\n{query.name}\n{query.sql}"


def outcomes_of(queries: list[Query], home: Path, on_spark: bool, before: Remembered, until: float) -> list[Outcome]:
    """What becomes of all queries, or of those that are done in time."""
    found = [before.get(query) for query in queries]
    if all(found):
        return [outcome for outcome in found if outcome]
    engine = engine_of(home)
    with spark_engine_of(home) if on_spark else nullcontext(None) as other:
        for place, query in enumerate(queries):
            if found[place] is None and time.monotonic() < until:
                found[place] = outcome = run(engine, query, other)
                before.put(outcome)
    return [outcome for outcome in found if outcome]


def main() -> None:
    """Run what the command line names; the exit code tells whether any query failed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--home", required=True, type=Path)
    parser.add_argument("--failures", action="store_true", help="name every query that fails, and why")
    parser.add_argument("--engine", choices=("duckdb", "spark"), default="duckdb", help="spark: compared with duckdb")
    parser.add_argument("--resume", type=Path, metavar="FILE", help="what earlier runs have found, and this one adds")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="stop after so long, and tell what is done")
    args = parser.parse_args()
    queries = [query for folder in args.folders for query in queries_in(folder)]
    until = time.monotonic() + args.seconds
    outcomes = outcomes_of(queries, args.home, args.engine == "spark", Remembered(args.resume), until)
    print(told(outcomes, args.folders))
    if len(outcomes) < len(queries):
        print(f"{len(queries) - len(outcomes)} queries are not done yet")
    if args.failures:
        for outcome in outcomes:
            if outcome.state != RAN:
                print(f"{outcome.state}: {outcome.query.file}: {outcome.query.name}: {outcome.reason}")
    sys.exit(any(outcome.state == FAILED for outcome in outcomes))


if __name__ == "__main__":
    main()
