"""Options that every command takes, before or after its name."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, TypeVar

import click

from tailrace.core.errors import TailraceError, one_line

_TOLD = (TailraceError, click.ClickException, click.exceptions.Exit, click.Abort, BrokenPipeError)
"Exceptions that need no explanation."
F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class Context:
    """What holds for the whole command."""

    home: str | None = None
    workspace: str | None = None
    config_path: tuple[str, ...] = ()
    master: str | None = None
    remote: str | None = None
    spark_conf: tuple[str, ...] = ()
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
    def config_paths(self) -> list[Path]:
        """`--config-path`, `TAILRACE_CONFIG_PATH`, else `<home>/config`."""
        given = self.config_path or tuple(p for p in os.environ.get("TAILRACE_CONFIG_PATH", "").split(":") if p)
        return [Path(p).expanduser() for p in given] or [self.home_path / "config"]


_OPTIONS = (
    click.option("--home", metavar="DIR", help="Where lake, logs and configuration live (~/.tailrace)."),
    click.option("--workspace", metavar="NAME", help="Workspace to work in (default)."),
    click.option("--config-path", metavar="PATH", multiple=True, help="Configuration file or directory."),
    click.option("--master", metavar="URL", help="Spark master (local[*])."),
    click.option("--remote", metavar="URL", help="Spark Connect server, sc://…"),
    click.option("--spark-conf", metavar="K=V", multiple=True, help="Any Spark setting; may be repeated."),
    click.option("--java-home", metavar="DIR", help="Java 17 or newer to run Spark with."),
    click.option("-v", "--verbose", count=True, help="Say more; twice for tracebacks."),
    click.option("-q", "--quiet", is_flag=True, help="Say nothing but results and errors."),
    click.option("--no-color", is_flag=True, help="No colours."),
)


def everywhere(function: F) -> F:
    """Adds the common options; the command gets them as `context`, those given last winning."""

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
            message = f"{type(error).__name__}: {one_line(error)}"
            raise TailraceError(message, hint="this should not happen; -vv shows where it did") from error

    for option in reversed(_OPTIONS):
        with_context = option(with_context)
    return with_context  # type: ignore[return-value]
