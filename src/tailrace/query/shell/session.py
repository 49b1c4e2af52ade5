"""One conversation with the lake: what has been set, what was asked last, and where answers go."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TextIO

from tailrace.core.errors import TailraceError
from tailrace.query.answering import Tell, answer
from tailrace.query.engine import Engine
from tailrace.query.files import Destination
from tailrace.query.render import Style
from tailrace.query.tokens import tokens

Open = Callable[[], AbstractContextManager[TextIO]]
"Gives where one answer is to be shown: a pager, or standard output."


class Session:
    """Takes what a person enters, a command or SQL at a time."""

    def __init__(self, engine: Engine, shown: Open, tell: Tell, form: str = "table", timing: bool = False) -> None:
        self.engine, self.shown, self.tell = engine, shown, tell
        self.form, self.timing, self.style = form, timing, Style()
        self.last = ""
        "The SQL that was asked last."
        self.is_over = False

    def enter(self, text: str) -> None:
        """Runs a command or SQL; raises what is wrong with it."""
        text = text.strip()
        if text.startswith("."):
            from tailrace.query.shell.commands import run

            run(self, text)
        elif text.strip("; \n"):
            self.last = text
            self.engine.refresh()
            self.show(text)

    def show(self, sql: str, form: str | None = None) -> None:
        """The answers of statements, as they are to be shown."""
        times: list[str] = []
        with self.shown() as out:  # a pager that is left early ends the block, and that is all
            times = self._answer(sql, Destination(form or self.form, None, out, self.style))
        self._tell_all(times)

    def export(self, sql: str, form: str, path: Path) -> None:
        """The answer of a statement, in a file."""
        self.engine.permission.require_outside(str(path))
        with Destination(form, path, style=self.style) as destination:
            times = self._answer(sql, destination)
        self._tell_all(times)

    def _tell_all(self, times: list[str]) -> None:
        for text in times:
            self.tell(text)

    def _answer(self, sql: str, destination: Destination) -> list[str]:
        try:
            return answer(self.engine, sql, destination, self.tell, timing=self.timing)
        finally:
            # An answer that was not read to its end would stand in the way of the next statement.
            self.engine.abandon()


def is_whole(text: str) -> bool:
    """Does it need no further line? A command is one; SQL ends with a semicolon that stands in no quotes."""
    stripped = text.strip()
    if not stripped or stripped.startswith("."):
        return True
    found = tokens(stripped)
    return not found or found[-1].text == ";"


def obey(session: Session, lines: Iterable[str]) -> None:
    """Runs what stands in the lines, up to the first error."""
    pending = ""
    for line in lines:
        pending = f"{pending}\n{line}" if pending else line
        if is_whole(pending):
            session.enter(pending)
            pending = ""
        if session.is_over:
            return
    session.enter(pending)


def converse(session: Session, ask: Callable[[], str], report: Callable[[TailraceError], None]) -> None:
    """Until the person leaves: an error ends the statement, not the conversation."""
    while not session.is_over:
        try:
            text = ask()
        except KeyboardInterrupt:
            continue  # the line is given up
        except EOFError:
            return
        try:
            session.enter(text)
        except KeyboardInterrupt:
            session.tell("\ncancelled")  # the terminal has written ^C
        except TailraceError as error:
            report(error)
