"""What `doctor` finds."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at."""

    name: str
    state: str
    "ok, warning or error."
    detail: str
    hint: str | None = None


def told(name: str, findings: Iterator[Finding]) -> Iterator[Finding]:
    """The findings, and an error that ends them as one more."""
    from tailrace.core import TailraceError
    from tailrace.core.errors import one_line

    try:
        yield from findings
    except TailraceError as error:
        for part in getattr(error, "errors", [error]):
            yield Finding(name, "error", str(part), part.hint)
    except OSError as error:
        yield Finding(name, "error", one_line(error))
