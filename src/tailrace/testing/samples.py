"""What the built-in formats and sources are tested with; packages bring the same for their own."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from tailrace.core import Common, Delimited, Format, Grok, Json, Jsonl, Layout, Regex, Table, col

COLUMNS = (col("name"), col("n", "bigint"), col("note"))
"What every sample is read into."


@dataclass(frozen=True, slots=True)
class FormatSample:
    """A format, set up for the fields `name`, `n` and `note`, and how a record of it is written."""

    format: Format
    record: str
    "With `<name>`, `<n>` and `<note>` in it."
    document: Callable[[list[str]], bytes] | None = None
    "Records → bytes; None: a record is a line."
    misfit: str = "many"
    "What stands for `<n>` and is no number."
    broken: str = "broken"
    "What stands in place of a record and is none."
    never: str = ""
    "Characters that would make one record of several lines, or none."
    names_fields: bool = True
    "Does the format know its fields before it sees data?"

    @property
    def lines(self) -> bool:
        return self.document is None

    def table(self) -> Table:
        return Table("t", "", self.format, COLUMNS, Common(time=()))

    def text(self, name: str, n: object, note: str) -> str:
        return self.record.replace("<name>", name).replace("<n>", str(n)).replace("<note>", note)

    def written(self, records: list[str]) -> bytes:
        """A document of these records."""
        if self.document is not None:
            return self.document(records)
        return "".join(f"{record}\n" for record in records).encode()


Place = Callable[[Path, Mapping[str, bytes]], Mapping[str, object]]
"""Puts artifacts (name → bytes) where a source finds them, inside an empty directory if it likes, and gives back what
the `source` block says. Called again for the same directory, it replaces what was there."""

_OBJECT = '{"name":"<name>","n":<n>,"note":"<note>"}'


def _array(records: list[str]) -> bytes:
    return f"[{','.join(records)}]".encode()


def _under_records(records: list[str]) -> bytes:
    return b'{"Records":%s}' % _array(records)


FORMATS = {
    "jsonl": FormatSample(Jsonl(), _OBJECT, misfit='"many"', never="\0", names_fields=False),
    "delimited": FormatSample(Delimited(header=False, fields=("name", "n", "note")), "<name>,<n>,<note>", never='"'),
    "layout": FormatSample(Layout('name n "note"'), '<name> <n> "<note>"'),
    "grok": FormatSample(Grok('%{WORD:name} %{NOTSPACE:n} "%{DATA:note}"'), '<name> <n> "<note>"'),
    "regex": FormatSample(Regex(r"^(?<name>\w+)=(?<n>[^ ]*) (?<note>.*)$"), "<name>=<n> <note>"),
    "lookaround": FormatSample(Regex(r"^(?!#)(?<name>\w+)=(?<n>[^ ]*) (?<note>.*)$"), "<name>=<n> <note>"),
    "json": FormatSample(Json(), _OBJECT, _array, '"many"', "7", names_fields=False),
    "records": FormatSample(Json("Records"), _OBJECT, _under_records, '"many"', "7", names_fields=False),
}


def files(directory: Path, artifacts: Mapping[str, bytes]) -> Mapping[str, object]:
    """Files of those names."""
    for name, data in artifacts.items():
        (directory / name).write_bytes(data)
    return {"paths": [str(directory)]}


SOURCES: Mapping[str, Place] = {"file": files}
