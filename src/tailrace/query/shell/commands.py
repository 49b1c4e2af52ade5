"""Commands of the shell that are no SQL: `.tables`, `.inspect` and the like."""

from __future__ import annotations

import shlex
import textwrap
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from tailrace.core.errors import QueryError, UsageError
from tailrace.core.registry import nearest
from tailrace.lake.quoting import literal, quoted
from tailrace.query.files import BINARY, FORMS, form_of
from tailrace.query.render import render
from tailrace.query.shell import described
from tailrace.query.sql_file import sql_in, telling_place

if TYPE_CHECKING:
    from tailrace.query.engine import Result
    from tailrace.query.shell.session import Session

SHOWN_FORMS = tuple(form for form in FORMS if form not in BINARY)
_DATABASES = (".duckdb", ".db", ".ddb")
_HELP_WIDTH = 79
"Fits on any terminal."
_SWITCH = {"on": True, "off": False}


@dataclass(frozen=True, slots=True)
class Command:
    """A command, what may follow it, and what it does."""

    usage: str
    help: str
    run: Callable[[Session, str], None]
    touches_files: bool = False
    "Reads or writes files that the caller names: nothing for a sandbox."


def run(session: Session, text: str) -> None:
    """Runs one line."""
    name, _, rest = text.partition(" ")
    command = COMMANDS.get(_SYNONYMS.get(name, name).removesuffix(";"))
    if command is None:
        guess = nearest(name, COMMANDS)
        hint = f"did you mean '{guess}'?" if guess else ".help lists what there is"
        raise UsageError(f"there is no command {name}", code="usage.no-such-command", hint=hint)
    if command.touches_files and session.engine.limits.sandboxed:
        told, hint = f"a sandbox only looks at tables: no {command.usage.split()[0]}", "without --sandbox it may run"
        raise QueryError(told, code="query.not-allowed", hint=hint)
    given = rest.strip()
    is_meant = command.run is _separator and given == ";"
    command.run(session, given if is_meant else given.removesuffix(";").strip())


def _tables(session: Session, pattern: str) -> None:
    _show(session, described.tables(session.engine, pattern))


def _inspect(session: Session, table: str) -> None:
    if not table:
        _tables(session, "")
        return
    session.tell(described.summary(session.engine, table))
    _show(session, described.columns(session.engine, table))


def _schema(session: Session, table: str) -> None:
    with session.shown() as out:
        out.write(described.definition(session.engine, table))


def _show(session: Session, result: Result) -> None:
    with session.shown() as out:
        render(result, session.form, out, session.style)


def _output(session: Session, form: str) -> None:
    if not form:
        session.tell(session.form)
    elif form in SHOWN_FORMS:
        session.form = form
    else:
        hint = f"choose one of {', '.join(SHOWN_FORMS)}; `.export FILE` writes to a file"
        raise UsageError(f"answers cannot be shown as {form}", code="usage.no-form", hint=hint)


def _timing(session: Session, word: str) -> None:
    session.timing = _switched(session.timing, word)
    session.tell(f"timing is {'on' if session.timing else 'off'}")


def _header(session: Session, word: str) -> None:
    session.style = replace(session.style, header=_switched(session.style.header, word))


def _separator(session: Session, text: str) -> None:
    session.style = replace(session.style, separator=_words(text)[0] if text else ",")


def _words(text: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError:
        raise UsageError(f"a quote has no end: {text}", code="usage.open-quote", hint="close it") from None


def _switched(before: bool, word: str) -> bool:
    if word and word not in _SWITCH:
        raise UsageError(f"'{word}' is neither on nor off", code="usage.bad-switch", hint="write on or off")
    return _SWITCH.get(word, not before)


def _explain(session: Session, rest: str) -> None:
    word, _, sql = rest.partition(" ")
    analyze = "ANALYZE " if word.lower() == "analyze" else ""
    session.show(f"EXPLAIN {analyze}{_asked(session, sql if analyze else rest)}", "table")


def _chart(session: Session, sql: str) -> None:
    session.show(_asked(session, sql), "chart")


def _export(session: Session, rest: str) -> None:
    name, _, sql = rest.partition(" ")
    if not name:
        raise UsageError("which file?", code="usage.no-file", hint="write .export FILE, or .export FILE SQL")
    path = Path(name).expanduser()
    session.export(_asked(session, sql), form_of(path), path)
    session.tell(f"written to {path}")


def _open(session: Session, rest: str) -> None:
    """A file beside the lake, under a name of its own."""
    parts = _words(rest)
    if not parts or len(parts) > 2:
        raise UsageError("which file?", code="usage.no-file", hint="write .open FILE, or .open FILE NAME")
    path = Path(parts[0]).expanduser()
    if not path.exists() and not set(parts[0]) & set("*?["):
        raise UsageError(f"there is no file {path}", code="usage.no-such-file", hint="name a file that exists")
    name = parts[1] if len(parts) == 2 else path.name.partition(".")[0]
    if name.lower() in map(str.lower, session.engine.tables.names):
        hint = "give it another name: .open FILE NAME"
        raise UsageError(f"{name} is a table of the lake", code="usage.taken-name", hint=hint)
    if path.suffix in _DATABASES:
        sql = f"ATTACH {literal(str(path))} AS {quoted(name)} (READ_ONLY)"
    else:
        sql = f"CREATE OR REPLACE VIEW {quoted(name)} AS FROM {literal(str(path))}"
    session.show(sql)
    session.tell(f"{path} is {quoted(name)}")


def _read(session: Session, name: str) -> None:
    path = Path(name).expanduser()
    with telling_place(str(path)):
        session.show(sql_in(path))


def _asked(session: Session, sql: str) -> str:
    """What is given, else what was asked last."""
    if not (sql or session.last):
        raise UsageError("nothing has been asked yet", code="usage.no-sql", hint="write SQL after the command")
    return sql or session.last


def _clear(session: Session, _: str) -> None:
    with session.shown() as out:
        out.write("\x1b[2J\x1b[H")


def _help(session: Session, _: str) -> None:
    wide = max(len(command.usage) for command in COMMANDS.values())
    with session.shown() as out:
        for command in COMMANDS.values():
            first, *others = textwrap.wrap(command.help, _HELP_WIDTH - wide - 2)
            out.write(f"{command.usage:{wide}}  {first}\n")
            out.writelines(f"{'':{wide}}  {line}\n" for line in others)
        out.write(
            "\nSQL may have several lines and ends with a semicolon. Tab completes,\n"
            "Ctrl-R searches what was asked before, Ctrl-C stops a statement, Ctrl-D leaves.\n"
        )


def _quit(session: Session, _: str) -> None:
    session.is_over = True


COMMANDS = {
    ".tables": Command(".tables [PATTERN]", "Tables that hold rows, or all whose names fit (wildcards).", _tables),
    ".inspect": Command(".inspect [TABLE]", "Columns of a table, and what is in it; without a name, tables.", _inspect),
    ".schema": Command(".schema [TABLE]", "A table as SQL would make it.", _schema),
    ".output": Command(".output [FORM]", f"How answers are shown: {', '.join(SHOWN_FORMS)}.", _output),
    ".header": Command(".header on|off", "Names of columns in csv and tsv.", _header),
    ".separator": Command(".separator TEXT", "Between the values of csv.", _separator),
    ".timing": Command(".timing on|off", "Say how long each statement takes.", _timing),
    ".explain": Command(".explain [analyze] [SQL]", "How DuckDB runs a statement; without one, the last.", _explain),
    ".chart": Command(".chart [SQL]", "Two columns as bars, or as a histogram over time.", _chart),
    ".export": Command(".export FILE [SQL]", "Write an answer to a file; its name tells the form.", _export, True),
    ".open": Command(
        ".open FILE [NAME]", "Make a file (CSV, JSON, Parquet, DuckDB) a table beside the lake's.", _open, True
    ),
    ".read": Command(".read FILE", "Run the SQL of a file.", _read, True),
    ".clear": Command(".clear", "Empty the screen.", _clear),
    ".help": Command(".help", "This list.", _help),
    ".quit": Command(".quit", "Leave.", _quit),
}  # fmt: skip
_SYNONYMS = {".exit": ".quit", ".timer": ".timing", ".mode": ".output"}
