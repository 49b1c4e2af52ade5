"""One root error. Every failure a person sees carries a code, a place and a remedy."""

from __future__ import annotations

import re

GONE = "source.gone"
DENIED = "source.denied"
IO = "source.io"
"Codes of what a server or a file system answers, wherever it is met."
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")


class TailraceError(Exception):
    """Something a person has to know: what happened (message), where, and what to do next (hint)."""

    exit_code = 1
    code = "unexpected"

    def __init__(
        self, message: str, *, code: str | None = None, where: str | None = None, hint: str | None = None
    ) -> None:
        super().__init__(message)
        self.message = message
        self.code = code or type(self).code
        self.where = where
        self.hint = hint
        if hint:
            # Whoever meets the error as a traceback, in a notebook, has the remedy with it.
            self.add_note(f"hint: {hint}")

    def __str__(self) -> str:
        place = f"{self.where}: " if self.where else ""
        return f"{place}{self.message}"

    def __reduce__(self) -> tuple[object, ...]:
        return (_revive, (type(self), self.message, self.code, self.where, self.hint))


def _revive(kind: type[TailraceError], message: str, code: str, where: str | None, hint: str | None) -> TailraceError:
    return kind(message, code=code, where=where, hint=hint)


class UsageError(TailraceError):
    """The command line asks for something that does not exist or does not fit together."""

    exit_code = 2
    code = "usage"


class ConfigError(TailraceError):
    """A configuration file says something that cannot be right; `where` is file:line:column."""

    exit_code = 3
    code = "config"


class PatternError(ConfigError):
    """A pattern is wrong at one of its characters; whoever knows where the pattern stands can point at it."""

    code = "config.pattern"

    def __init__(
        self, message: str, *, pattern: str, at: int, code: str | None = None, where: str | None = None,
        hint: str | None = None,
    ) -> None:  # fmt: skip
        super().__init__(message, code=code, where=where, hint=hint)
        self.pattern = pattern
        self.at = at

    def __reduce__(self) -> tuple[object, ...]:
        return (_revive_pattern, (self.message, self.pattern, self.at, self.code, self.where, self.hint))


def _revive_pattern(
    message: str, pattern: str, at: int, code: str, where: str | None, hint: str | None
) -> PatternError:
    return PatternError(message, pattern=pattern, at=at, code=code, where=where, hint=hint)


class TooManyBadRows(TailraceError):
    """More rows were quarantined than `--max-errors` allows."""

    exit_code = 4
    code = "data.too-many-bad-rows"


class SourceError(TailraceError):
    """A source cannot be listed or an artifact cannot be read."""

    exit_code = 5
    code = "source"


class DataError(TailraceError):
    """An artifact cannot be decoded in any reasonable time or way; its day fails."""

    exit_code = 5
    code = "data"


class LakeError(TailraceError):
    """The lake refuses a change: schema conflict, lost race, damaged metadata."""

    exit_code = 5
    code = "lake"


class SparkError(TailraceError):
    """Java, or Spark on it, does not start or does not live: nothing can be collected."""

    exit_code = 5
    code = "spark"


class LockedError(TailraceError):
    """Another process is changing the same partition; a `brief` one will have done so in a moment."""

    exit_code = 6
    code = "lake.locked"

    def __init__(
        self, message: str, *, code: str | None = None, where: str | None = None, hint: str | None = None,
        brief: bool = False,
    ) -> None:  # fmt: skip
        super().__init__(message, code=code, where=where, hint=hint)
        self.brief = brief


class QueryError(TailraceError):
    """The SQL does not run; the message is the engine's own."""

    exit_code = 1
    code = "query"


def one_line(error: BaseException) -> str:
    """The words of an exception that was made for others: some libraries draw coloured trees."""
    lines = _COLOUR.sub("", str(error)).replace("↳", "").splitlines()
    return ": ".join(line.strip() for line in lines if line.strip()) or type(error).__name__
