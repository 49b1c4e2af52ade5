"""Answers in files and on pipes: Parquet, Arrow and text, as rows come; a file is there whole or not at all."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, BinaryIO, TextIO, cast

from tailrace.core.errors import QueryError, UsageError
from tailrace.core.written import STDOUT, cannot_write, is_special, room_for, target_of
from tailrace.query.engine import Result
from tailrace.query.render import AS_USUAL, RENDERERS, Style, render

if TYPE_CHECKING:
    import pyarrow as pa

BINARY = ("parquet", "arrow")
FORMS = (*RENDERERS, "chart", *BINARY)
_SUFFIXES = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".json": "json",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".md": "markdown",
    ".txt": "table",
    ".parquet": "parquet",
    ".arrow": "arrow",
    ".feather": "arrow",
}
_PACKED = ".gz"


def form_of(path: Path) -> str:
    """By the name of the file: `calls.csv`, `calls.csv.gz`."""
    name = path.name.lower().removesuffix(_PACKED)
    form = _SUFFIXES.get(Path(name).suffix)
    require_packable(path, form)
    if form is None:
        hint = f"end it with one of {', '.join(_SUFFIXES)}, or say --output"
        raise UsageError(f"the name of {path} tells no form", code="usage.no-form", hint=hint)
    return form


def require_packable(path: Path, form: str | None) -> None:
    """A name that promises gzip is not for forms that are packed inside."""
    if form in BINARY and path.name.lower().endswith(_PACKED):
        hint = f"{form} is packed inside: leave out {_PACKED}"
        raise UsageError(f"{path} would not be gzip", code="usage.packed", hint=hint)


class Destination:
    """Where answers go: a stream of the caller's, or a file that is put in place at the end of a `with` block.

    A device or a pipe is no such file: it is written into as it is.
    """

    def __init__(
        self,
        form: str,
        path: Path | None = None,
        out: TextIO | None = None,
        style: Style = AS_USUAL,
        *,
        several: bool = False,
    ) -> None:
        self.form, self.path, self.style = form, path, style
        self.is_listed = several and form == "json"
        "Several answers are one document of JSON: an array of them."
        self.out = out if path is None else None
        self.answers = 0
        self._staged: Path | None = None
        self._opened: list[IO[Any]] = []

    @property
    def is_binary(self) -> bool:
        """Are batches wanted instead of rows?"""
        return self.form in BINARY

    def write(self, result: Result) -> None:
        """One answer; a file of Parquet or Arrow holds no second one."""
        self.answers += 1
        if self.is_binary and self.answers > 1:
            hint = "give one statement; for several, run the command once for each"
            raise UsageError(f"{self.form} holds one answer, and there are more", code="usage.answers", hint=hint)
        with room_for(self.path or STDOUT):
            if self.is_binary:
                _write_binary(result, self.form, self._bytes(), is_file=self.path is not None)
            else:
                if self.is_listed:
                    self._text().write("[" if self.answers == 1 else ",")
                render(result, self.form, self._text(), self.style)

    def __enter__(self) -> Destination:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        try:
            with room_for(self.path or STDOUT), ExitStack() as closing:
                if kind is None and self.is_listed:
                    self._text().write("]\n" if self.answers else "[]\n")
                for file in self._opened:
                    closing.callback(file.close)
            if kind is None and self._staged is not None and self.path is not None:
                os.replace(self._staged, target_of(self.path))
        finally:
            if self._staged is not None:
                self._staged.unlink(missing_ok=True)

    def _text(self) -> TextIO:
        if self.out is not None:
            return self.out
        if not self._opened:
            file = self._packed(self._open())
            self._opened.append(io.TextIOWrapper(file, encoding="utf-8", newline=""))
        return cast(TextIO, self._opened[-1])

    def _bytes(self) -> BinaryIO:
        if self.path is not None:
            return self._open()
        if sys.stdout.isatty():
            hint = "write it to a file with --out, or into a pipe"
            raise UsageError(f"{self.form} is nothing for a terminal", code="usage.binary", hint=hint)
        return cast(BinaryIO, sys.stdout.buffer)

    def _open(self) -> BinaryIO:
        assert self.path is not None
        if not is_special(self.path):
            target = target_of(self.path)
            self._staged = target.with_name(f".{target.name}.{os.getpid()}.tmp")
        try:
            file = open(self._staged or self.path, "wb")  # noqa: SIM115 (closed at the end of the block)
        except OSError as error:
            raise cannot_write(self.path, error) from None
        self._opened.append(file)
        return file

    def _packed(self, file: BinaryIO) -> BinaryIO:
        assert self.path is not None
        if not self.path.name.lower().endswith(_PACKED):
            return file
        import gzip

        packed = cast(BinaryIO, gzip.GzipFile(fileobj=file, mode="wb", mtime=0))
        self._opened.append(packed)
        return packed


def _write_binary(result: Result, form: str, sink: BinaryIO, is_file: bool) -> None:
    assert result.batches is not None
    schema, batches = result.batches()
    with _cast_hint(form), _writer(form, sink, schema, is_file) as writer:
        for batch in batches:
            writer.write_batch(batch)


@contextmanager
def _writer(form: str, sink: BinaryIO, schema: pa.Schema, is_file: bool) -> Iterator[Any]:
    """On a pipe Arrow is a stream, in a file it can be read from any place."""
    import pyarrow as pa

    if form == "parquet":
        import pyarrow.parquet as pq

        from tailrace.lake.bounded import bounded

        made: Any = pq.ParquetWriter(sink, schema, compression="zstd", write_statistics=bounded(schema))
    else:
        made = pa.ipc.new_file(sink, schema) if is_file else pa.ipc.new_stream(sink, schema)
    with made:
        yield made


@contextmanager
def _cast_hint(form: str) -> Iterator[None]:
    import pyarrow as pa

    try:
        yield
    except (pa.ArrowNotImplementedError, pa.ArrowInvalid, pa.ArrowTypeError) as error:
        hint = "cast the column, such as `x::varchar`"
        raise QueryError(f"{form} cannot hold this answer: {error}", code="query.form", hint=hint) from None
