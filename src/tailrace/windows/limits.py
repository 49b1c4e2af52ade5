"""How long a window's query may run: whoever computes for it is interrupted, and the window fails."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from tailrace.core.errors import QueryError, TailraceError

TIMEOUT = "window.timeout"
_AGAIN = 0.2
"Seconds between two interruptions: one that comes before the work begins is not heard."


@contextmanager
def limited(interrupt: Callable[[], object], seconds: float, where: str) -> Iterator[None]:
    """Errors of what is done here are told of the window; `interrupt` is called from another thread."""
    done, over = threading.Event(), threading.Event()

    def watch() -> None:
        if not done.wait(seconds):
            over.set()
            while not done.wait(_AGAIN):
                interrupt()

    watching = threading.Thread(target=watch, name="query-timeout", daemon=True) if seconds else None
    if watching is not None:
        watching.start()
    try:
        yield
    except Exception as error:
        if not over.is_set():
            if isinstance(error, TailraceError):
                error.where = error.where or where
            raise
    finally:
        done.set()
        if watching is not None:
            watching.join()
    if over.is_set():
        message = f"the query was stopped after {seconds:g} s"
        hint = "allow it more with query_timeout, or let it look at less: a shorter window, fewer joins"
        raise QueryError(message, code=TIMEOUT, where=where, hint=hint)
