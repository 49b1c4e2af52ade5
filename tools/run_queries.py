"""Runs published queries against a lake, unchanged, and tells how many run and why the others do not.

    python tools/run_queries.py FOLDER… --home HOME [--failures]

Folders may hold `.sql` files, Markdown pages with SQL blocks, and mods (`.pp`). Queries about tables that Tailrace does
not have are counted apart.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

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


def run(engine: Engine, query: Query) -> Outcome:
    """Every statement of the query, and all of its rows."""
    rows = statements = 0
    try:
        for result in engine.run(query.sql):
            statements += 1
            rows += sum(1 for _ in result.rows)
    except TailraceError as error:
        missing = "Table with name" in error.message and "does not exist" in error.message
        return Outcome(query, OTHER if missing else FAILED, reason=error.message.partition("\n")[0])
    if query.problem or not statements:
        return Outcome(query, FAILED, reason=query.problem or "there is no statement in it")
    return Outcome(query, RAN, rows)


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


def main() -> None:
    """Run what the command line names; the exit code tells whether any query failed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--home", required=True, type=Path)
    parser.add_argument("--failures", action="store_true", help="name every query that fails, and why")
    args = parser.parse_args()
    engine = engine_of(args.home)
    outcomes = [run(engine, query) for folder in args.folders for query in queries_in(folder)]
    print(told(outcomes, args.folders))
    if args.failures:
        for outcome in outcomes:
            if outcome.state != RAN:
                print(f"{outcome.state}: {outcome.query.file}: {outcome.query.name}: {outcome.reason}")
    sys.exit(any(outcome.state == FAILED for outcome in outcomes))


if __name__ == "__main__":
    main()
