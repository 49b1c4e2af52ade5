"""A shell of IPython as a notebook has it, without history on disk."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from IPython.core.interactiveshell import InteractiveShell
from traitlets.config import Config


@contextmanager
def notebook() -> Iterator[InteractiveShell]:
    settings = Config()
    settings.HistoryManager.enabled = False
    shell: InteractiveShell = InteractiveShell.instance(config=settings)
    try:
        yield shell
    finally:
        shell.reset()
        InteractiveShell.clear_instance()


def run(shell: InteractiveShell, cell: str) -> Any:
    """What a cell shows; raises what it raises."""
    done = shell.run_cell(cell)
    done.raise_error()
    return done.result
