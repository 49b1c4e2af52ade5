"""`%%tailrace`: SQL in a cell of its own."""

from __future__ import annotations

import argparse
import shlex
from typing import Any, NoReturn

from tailrace.api.answer import Answer
from tailrace.api.filters import Filters
from tailrace.api.lake import Lake
from tailrace.core.errors import UsageError

_NAME = "tailrace"


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        hint = "%%tailrace [NAME] [--from TIME] [--to TIME] [--partition SEL] [--index VALUE] [--schema NAME] [--at …]"
        raise UsageError(message, code="usage.magic", hint=hint)


def register(shell: Any) -> None:
    """Makes `%tailrace SQL` and `%%tailrace` known to IPython."""

    def ask(line: str, cell: str | None = None) -> Answer:
        return asked(shell, line, cell)

    ask.__doc__ = asked.__doc__
    shell.register_magic_function(ask, magic_kind="line_cell", magic_name=_NAME)


def asked(shell: Any, line: str, cell: str | None) -> Answer:
    """SQL over the lake.

    %tailrace select 1
    %%tailrace [NAME] [--from TIME] [--to TIME] [--partition SEL] [--index VALUE] [--schema NAME] [--at [TABLE=]WHEN]

    The answer is shown, and kept in the variable NAME if one is given. `$name` in the SQL is the value of a variable.
    The lake is the variable `lake` if that is one, else `tailrace.open()`.
    """
    variables: dict[str, Any] = shell.user_ns
    if cell is None:
        return _answer(variables, line, {})
    options = _parser().parse_args(shlex.split(line))
    answer = _answer(variables, cell, _filters(options))
    if options.name:
        variables[options.name] = answer
    return answer


def _answer(variables: dict[str, Any], sql: str, filters: Filters) -> Answer:
    import tailrace
    from tailrace.query.parameters import parameters_of

    known = variables.get("lake")
    lake = known if isinstance(known, Lake) else tailrace.open()
    folded = {name.lower(): value for name, value in variables.items()}
    values = {name: folded[name] for name in parameters_of(sql) if name in folded}
    answer = lake.sql(sql, values, **filters)
    answer.begin()  # a cell whose SQL is wrong has failed, and those after it do not run
    return answer


def _filters(options: argparse.Namespace) -> Filters:
    found: Filters = {"partition": options.partition, "index": options.index, "schema": options.schema}
    found["start"], found["end"] = options.start, options.end
    if len(options.at) == 1 and "=" not in options.at[0]:
        found["at"] = options.at[0]
    elif options.at:
        found["at"] = {table: when for table, _, when in (text.rpartition("=") for text in options.at)}
    return found


def _parser() -> _Parser:
    parser = _Parser(prog="%%tailrace", add_help=False)
    parser.add_argument("name", nargs="?")
    parser.add_argument("--from", dest="start")
    parser.add_argument("--to", dest="end")
    parser.add_argument("--partition", action="append", default=[])
    parser.add_argument("--index", action="append", default=[])
    parser.add_argument("--schema", default="tailrace")
    parser.add_argument("--at", action="append", default=[])
    return parser
