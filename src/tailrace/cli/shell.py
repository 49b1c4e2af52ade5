"""The shell of `tailrace query`: on a terminal, on one that can do nothing, and fed by a pipe."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, TextIO

import click

from tailrace.cli.options import Context
from tailrace.version import __version__

if TYPE_CHECKING:
    from tailrace.query.engine import Engine

_HISTORY = "shell_history"


def converse(context: Context, engine: Engine, form: str, timing: bool) -> None:
    """Asks and answers until the person leaves."""
    from tailrace.cli.main import report
    from tailrace.query.shell.paging import paged
    from tailrace.query.shell.session import Session
    from tailrace.query.shell.session import converse as talk

    if _is_dumb():
        click.get_current_context().color = False
    session = Session(engine, lambda: paged(sys.stdout), _tell, form, timing)
    if not context.quiet:
        _tell(
            f"tailrace {__version__}, workspace {context.workspace_name}. SQL ends with a semicolon; .help says more."
        )
    talk(session, _asker(context, engine), report)


def obey(engine: Engine, text: str, form: str, timing: bool) -> None:
    """Runs what a pipe holds: commands and SQL, up to the first error."""
    from tailrace.query.shell.session import Session
    from tailrace.query.shell.session import obey as run

    run(Session(engine, _plain, _tell, form, timing), text.splitlines())


def _asker(context: Context, engine: Engine) -> Callable[[], str]:
    if _is_dumb() or not sys.stdout.isatty():
        return _ask_plainly
    from tailrace.query.shell.names import LakeNames
    from tailrace.query.shell.prompt import asker

    is_coloured = not (context.no_color or os.environ.get("NO_COLOR"))
    return asker(LakeNames(engine), context.home_path / _HISTORY, is_coloured)


def _is_dumb() -> bool:
    """Can the terminal do nothing but write lines?"""
    return os.environ.get("TERM", "dumb") == "dumb"


def _ask_plainly() -> str:
    """Line by line, for terminals that cannot move the cursor."""
    from tailrace.query.shell.session import is_whole

    text = _line("tailrace> ")
    while not is_whole(text):
        text += "\n" + _line("      ... ")
    return text


def _line(prompt: str) -> str:
    # `input` would write it among the answers.
    click.echo(prompt, nl=False, err=True)
    try:
        return input()
    except EOFError:
        click.echo(err=True)  # whatever comes next begins a line
        raise


@contextmanager
def _plain() -> Iterator[TextIO]:
    yield sys.stdout


def _tell(text: str) -> None:
    click.echo(text, err=True)
