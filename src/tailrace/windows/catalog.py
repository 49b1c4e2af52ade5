"""Which windows each file has rows in. A file is opened once; what it said is kept beside the segments."""

from __future__ import annotations

import msgspec
import numpy as np
import pyarrow as pa

from tailrace.core.errors import DataError
from tailrace.lake.place import LocalPlace
from tailrace.windows.batches import filled
from tailrace.windows.files import OtapFile, damage_told, list_table, opened
from tailrace.windows.schema import UNPARTITIONED
from tailrace.windows.spec import WindowSpec

_TIMES = ("time_unix_nano", "observed_time_unix_nano")
_NAME = "files.json"
Known = dict[str, dict[int, int]]
"Name of a file of logs → starts of windows → its rows in each."


class Catalog:
    """Files of logs by window."""

    def __init__(self, spec: WindowSpec, place: LocalPlace) -> None:
        self._spec, self._place = spec, place
        self.files: Known = {}
        self.opened = 0

    def look(self) -> None:
        """Lists the files and opens those that are new."""
        known = self._kept()
        listed = sorted(list_table(self._spec.base, "logs"), key=lambda file: file.name)
        loose = [file for file in listed if file.part_id == UNPARTITIONED]
        if len(loose) > 1 and not self._spec.unpartitioned:
            message = "files of logs outside of `_part_id=` directories: ids of two writers may be the same"
            hint = "let the exporter write `_part_id`; with one writer only, write allow_unpartitioned = true"
            raise DataError(message, code="window.unpartitioned", where=str(self._spec.base), hint=hint)
        self.files = {}
        before = self.opened
        for file in listed:
            self.files[file.name] = known[file.name] if file.name in known else self._starts(file)
        if self.opened > before:
            text = {"granularity": self._spec.temporal.granularity, "files": self.files}
            self._place.put(_NAME, msgspec.json.encode(text), "catalog")

    def _kept(self) -> Known:
        try:
            found = msgspec.json.decode(self._place.read(_NAME), type=_Kept)
        except (FileNotFoundError, msgspec.DecodeError):
            return {}
        return found.files if found.granularity == self._spec.temporal.granularity else {}

    def _starts(self, file: OtapFile) -> dict[int, int]:
        self.opened += 1
        with opened(self._spec.base, file) as parquet, damage_told(self._spec.base, file):
            held = [name for name in _TIMES if name in parquet.schema_arrow.names]
            table = parquet.read(columns=held, use_threads=False)
        columns = [filled(table[name].cast(pa.int64())) for name in held]
        times = np.where(columns[0] == 0, columns[-1], columns[0])
        undated = file.created_ms * 1_000_000 if self._spec.keep_undated else -1
        times = np.where(times <= 0, undated, times)
        size = self._spec.temporal.granularity
        starts, counts = np.unique(times[times >= 0] // size * size, return_counts=True)
        return dict(zip(starts.tolist(), counts.tolist(), strict=True))


class _Kept(msgspec.Struct):
    granularity: int
    files: dict[str, dict[int, int]]
