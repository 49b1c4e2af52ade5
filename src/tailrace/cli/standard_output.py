"""Standard output as commands write to it: any character, and a place that takes no more is told as such."""

from __future__ import annotations

import codecs
import io
import os
import sys
from typing import TYPE_CHECKING

from tailrace.core.written import STDOUT, cannot_write

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

_NUMBER = 1


class _Told(io.FileIO):
    """The file itself. What else raises OSError says nothing about standard output: here it is known."""

    def write(self, block: ReadableBuffer, /) -> int | None:  # type: ignore[override]
        try:
            return super().write(block)
        except BrokenPipeError:
            raise
        except OSError as error:
            close_output()
            raise cannot_write(STDOUT, error) from None


def prepare_output() -> None:
    """In place of Python's own, unless somebody else has put theirs there.

    A text that the encoding lacks is written with backslashes: names of files may hold any bytes. ASCII is seldom
    what anybody has chosen, and a terminal that can draw no line is rarer still: it becomes UTF-8, as `click` does.
    """
    own = sys.stdout
    if own is not sys.__stdout__ or not isinstance(own, io.TextIOWrapper) or own.fileno() != _NUMBER:
        return
    own.flush()
    raw = _Told(_NUMBER, "w", closefd=False)
    sys.stdout = io.TextIOWrapper(
        io.BufferedWriter(raw),
        "utf-8" if codecs.lookup(own.encoding).name == "ascii" else own.encoding,
        "backslashreplace" if own.errors in ("strict", "surrogateescape") else own.errors,
        line_buffering=own.line_buffering,
        write_through=own.write_through,
    )


def close_output() -> None:
    """Nothing may be written any more, at exit either."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, _NUMBER)
    os.close(nowhere)
