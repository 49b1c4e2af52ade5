"""Arrow's CSV reader on one block: texts, numbers where they are numbers, and the rows it refuses."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.csv

_COLUMN = re.compile(r"In CSV column #(\d+)")


class CsvReader:
    """Reads blocks of rows that all have these columns; a column that is not all numbers is read as text."""

    def __init__(
        self,
        names: Sequence[str],
        types: Mapping[str, pa.DataType],
        nulls: Sequence[str],
        unread: Collection[str] = (),
        quoted_nulls: bool = True,
        **parse: Any,
    ) -> None:
        """`unread` columns are there but nobody asks for them; `quoted_nulls`: quotes do not make a null a text."""
        self.names = names
        self.wanted = [name for name in names if name not in unread]
        self.types = {name: types.get(name, pa.string()) for name in names}
        self.nulls = list(nulls)
        self.quoted_nulls = quoted_nulls
        self.parse = parse

    def read(self, buffer: bytes | pa.Buffer) -> tuple[dict[str, pa.Array], dict[int, int]]:
        """The columns, and the refused rows: place in the block → number of fields found."""
        while True:
            try:
                return self._read(buffer)
            except pa.ArrowInvalid as error:
                found = _COLUMN.match(str(error))
                name = self.names[int(found[1])] if found else None
                if name is None or pa.types.is_string(self.types[name]):
                    raise
                self.types[name] = pa.string()  # from now on it is fitted afterwards

    def _read(self, buffer: bytes | pa.Buffer) -> tuple[dict[str, pa.Array], dict[int, int]]:
        refused: dict[int, int] = {}

        def refuse(row: pyarrow.csv.InvalidRow) -> str:
            refused[row.number - 1] = row.actual_columns
            return "skip"

        # Not `open_csv`, which now and then parses in a thread of Arrow's own. Python then makes and drops a state of
        # that thread for every row that is refused: 8 instead of 0.3 µs a row.
        table = pyarrow.csv.read_csv(
            pa.py_buffer(buffer),
            read_options=pyarrow.csv.ReadOptions(
                use_threads=False, column_names=list(self.names), block_size=len(buffer) + 1
            ),
            parse_options=pyarrow.csv.ParseOptions(ignore_empty_lines=False, invalid_row_handler=refuse, **self.parse),
            # The block was found to be UTF-8 as a whole, and fields are cut at ASCII characters.
            convert_options=pyarrow.csv.ConvertOptions(
                check_utf8=False,
                column_types=self.types,
                include_columns=self.wanted,
                null_values=self.nulls,
                strings_can_be_null=True,
                quoted_strings_can_be_null=self.quoted_nulls,
            ),
        )
        return {name: _whole(table[name]) for name in self.wanted}, refused


def _whole(column: pa.ChunkedArray) -> pa.Array:
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()
