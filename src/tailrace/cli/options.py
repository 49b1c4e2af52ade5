"""Options that every command takes, before or after its name."""

from __future__ import annotations

import functools
import os
import shlex
import sys
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, TypeVar

import click

from tailrace.core.errors import TailraceError, one_line

_TOLD = (TailraceError, click.ClickException, click.exceptions.Exit, click.Abort, BrokenPipeError)
"Exceptions that need no explanation."
FORMS = ("table", "pretty", "plain", "json", "jsonl", "csv", "line")
"`pretty` is `table`; `plain` is the same without lines."
F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class Context:
    """What holds for the whole command."""

    home: str | None = None
    workspace: str | None = None
    config_path: tuple[str, ...] = ()
    var: tuple[str, ...] = ()
    var_file: tuple[str, ...] = ()
    master: str | None = None
    remote: str | None = None
    spark_conf: tuple[str, ...] = ()
    spark_env: str | None = None
    java_home: str | None = None
    verbose: int = 0
    quiet: bool = False
    no_color: bool = False

    @property
    def home_path(self) -> Path:
        """`--home`, `TAILRACE_HOME`, else `~/.tailrace`."""
        chosen = self.home or os.environ.get("TAILRACE_HOME")
        return Path(chosen).expanduser().absolute() if chosen else Path.home() / ".tailrace"

    @property
    def workspace_name(self) -> str:
        return self.workspace or os.environ.get("TAILRACE_WORKSPACE") or "default"

    @property
    def command(self) -> str:
        """How a command on the same lake begins."""
        given = (("--home", self.home), ("--workspace", self.workspace))
        return " ".join((_program(), *(f"{option} {shlex.quote(value)}" for option, value in given if value)))


def _program() -> str:
    """By name; where a shell would not find it, in an environment that is not active, as it was started."""
    import shutil

    started = sys.argv[0]
    by_name = Path(started).name != "tailrace" or shutil.which("tailrace")
    return "tailrace" if by_name else shlex.quote(started)


_OPTIONS: dict[tuple[str, ...], dict[str, Any]] = {
    ("--home",): {
        "metavar": "DIR",
        "type": click.Path(),
        "help": "Where lake, logs and configuration (DIR/config) live (~/.tailrace).",
    },
    ("--workspace",): {"metavar": "NAME", "help": "Workspace to work in (default)."},
    ("--config-path",): {
        "metavar": "PATH",
        "type": click.Path(),
        "multiple": True,
        "help": "File or directory; may be repeated.",
    },
    ("--var",): {"metavar": "NAME=VALUE", "multiple": True, "help": "Value of a variable; may be repeated."},
    ("--var-file",): {
        "metavar": "FILE",
        "type": click.Path(),
        "multiple": True,
        "help": "File of values of variables; may be repeated.",
    },
    ("--master",): {"metavar": "URL", "help": "Spark master (local[*])."},
    ("--remote",): {"metavar": "URL", "help": "Spark Connect server, sc://…"},
    ("--spark-conf",): {"metavar": "K=V", "multiple": True, "help": "Any Spark setting; may be repeated."},
    ("--spark-env",): {
        "metavar": "FILE",
        "type": click.Path(),
        "help": "Environment for executors, from `tailrace spark pack`.",
    },
    ("--java-home",): {"metavar": "DIR", "type": click.Path(), "help": "Java 17 or newer to run Spark with."},
    ("-v", "--verbose"): {"count": True, "help": "Say more; twice for tracebacks."},
    ("-q", "--quiet"): {"is_flag": True, "help": "Say nothing but results and errors."},
    ("--no-color",): {"is_flag": True, "help": "No colours."},
}
_SPARK = frozenset({"--master", "--remote", "--spark-conf", "--spark-env", "--java-home"})


def report_option(function: F) -> F:
    """`--output` of commands that tell how something went: no table in it has lines."""
    forms = click.Choice(("table", "pretty", "plain", "json"))
    return click.option("--output", type=forms, default="table", help="Form of the report.")(function)


def output_option(function: F) -> F:
    """`--output` of everything that lists or shows."""
    return click.option("--output", type=click.Choice(FORMS), default="table", help="Form of the answer.")(function)


def everywhere(function: F) -> F:
    """Adds the common options; the command gets them as `context`, those given last winning."""
    return _with_options(function, frozenset())


def without_spark(*shown: str) -> Callable[[F], F]:
    """Like `everywhere` where no Spark runs: its options are taken, but only those `shown` are in the help."""
    return lambda function: _with_options(function, _SPARK.difference(shown))


def _explained(error: Exception, context: Context) -> TailraceError:
    """What nobody has put in words: a file of the lake that the system refuses, or something that should not happen."""
    if isinstance(error, OSError) and Path(str(error.filename)).is_relative_to(context.home_path):
        from tailrace.lake.damage import unreadable

        return unreadable(error, str(error.filename))
    message = f"{type(error).__name__}: {one_line(error)}"
    return TailraceError(message, hint="this should not happen; -vv shows where it did")


def _with_options(function: F, hidden: frozenset[str]) -> F:
    @functools.wraps(function)
    def with_context(*args: Any, **kwargs: Any) -> Any:
        given = {f.name: kwargs.pop(f.name) for f in fields(Context)}
        current = click.get_current_context()
        outer = current.find_object(Context) or Context()
        chosen = replace(outer, **{k: v for k, v in given.items() if v})
        current.obj = chosen
        if chosen.no_color or os.environ.get("NO_COLOR"):
            current.color = False
        try:
            return function(*args, context=chosen, **kwargs)
        except _TOLD:
            raise
        except Exception as error:
            if chosen.verbose >= 2:
                raise
            raise _explained(error, chosen) from error

    for names, settings in reversed(_OPTIONS.items()):
        with_context = click.option(*names, hidden=not hidden.isdisjoint(names), **settings)(with_context)
    return with_context  # type: ignore[return-value]
