"""Results of one window, under names that nobody else has: nobody sees them before a segment names them."""

from __future__ import annotations

import uuid
from collections.abc import Callable

import pyarrow as pa
import pyarrow.parquet as pq

from tailrace.core.errors import QueryError, one_line
from tailrace.core.written import room_for
from tailrace.lake.bounded import bounded
from tailrace.windows.batches import batches, even
from tailrace.windows.forms import FORMS
from tailrace.windows.schema import Tables
from tailrace.windows.spec import WindowSpec
from tailrace.windows.state import STAGED, Output
from tailrace.windows.writer import OtapWriter


class Staged:
    """What a window has written so far."""

    def __init__(self, spec: WindowSpec, name: str, threads: int = 1) -> None:
        self._spec, self._name, self._threads = spec, name, threads
        self._folder = f"{STAGED}/{uuid.uuid4().hex}"
        self.outputs: list[Output] = []
        self.bytes = 0

    def rows(self, answer: pa.Table) -> None:
        """The answer as it is."""
        try:
            settings = {"compression": "zstd", "write_statistics": bounded(answer.schema)}
            self._write(".parquet", lambda path: pq.write_table(answer, path, **settings))
        except pa.ArrowException as error:
            message = f"the answer cannot be written as Parquet: {one_line(error)}"
            raise QueryError(message, code="query.answer", hint="cast the column to what Parquet has") from None

    def logs(self, tables: Tables) -> None:
        """The logs that it selects."""
        limit = self._spec.batch_size
        if self._spec.form == "otap_parquet":
            with room_for(str(self._spec.out)), OtapWriter(self._spec.out / self._folder) as writer:
                for batch in batches(tables, limit):
                    writer.write(batch)
            # Attributes come before their logs, here as in a writer.
            self.outputs = [Output(f"{self._folder}/{name}", name) for name in writer.files]
            self.bytes = sum(self._spec.out.size(output.staged) for output in self.outputs)
            return
        suffix, write = FORMS[self._spec.form]

        def put(path: str) -> None:
            with open(path, "wb") as file:
                file.writelines(write(tables, even(len(tables.logs), limit), self._threads))

        self._write(suffix, put)

    def _write(self, suffix: str, put: Callable[[str], None]) -> None:
        output = Output(f"{self._folder}/{self._name}{suffix}", self._name + suffix)
        with room_for(self._spec.out.address(output.final)):
            draft = self._spec.out.create(output.staged)
            put(draft.path)
            self.bytes += draft.close()
            draft.wait()
        self.outputs.append(output)
