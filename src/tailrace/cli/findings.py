"""What `doctor` finds."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

LITTLE_SPACE = 1_000_000_000


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at."""

    name: str
    state: str
    "ok, warning or error."
    detail: str
    hint: str | None = None


def on_disk(name: str, directory: Path, detail: str, elsewhere: str) -> Finding:
    """Can files be written there, and is there room for them? The directory itself need not be there yet."""
    existing = next(p for p in (directory, *directory.parents) if p.exists())
    if not (existing.is_dir() and os.access(existing, os.W_OK)):
        return Finding(name, "error", f"{directory} cannot be written", elsewhere)
    free = shutil.disk_usage(existing).free
    state, hint = ("ok", None) if free > LITTLE_SPACE else ("warning", "make some space")
    return Finding(name, state, f"{detail}, {free / 1e9:.1f} GB free", hint)


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
