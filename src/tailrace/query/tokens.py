"""The words of SQL as DuckDB parts them."""

from __future__ import annotations

from dataclasses import dataclass

from tailrace.query.duck import duckdb


@dataclass(frozen=True, slots=True)
class Token:
    """A word, a text, a name in quotes, a number or a sign; `start` and `end` are bytes of the SQL."""

    text: str
    start: int
    end: int
    kind: str

    @property
    def word(self) -> str:
        """In small letters; empty for what stands in quotes."""
        return "" if self.is_quoted else self.text.lower()

    @property
    def is_quoted(self) -> bool:
        return self.kind == "string_const" or self.text.startswith('"')

    @property
    def content(self) -> str:
        """What stands in plain quotes, single or double; else the text as it is."""
        quote = self.text[:1]
        if quote not in ("'", '"') or len(self.text) < 2 or not self.text.endswith(quote):
            return self.text
        return self.text[1:-1].replace(quote * 2, quote)


def tokens(sql: str) -> list[Token]:
    """Everything but blanks and comments."""
    return [token for token in all_tokens(sql) if token.kind != "comment"]


def all_tokens(sql: str) -> list[Token]:
    """Everything but blanks."""
    text = sql.encode()
    found = duckdb.tokenize(sql)
    starts = [start for start, _ in found]
    ends = [*starts, len(text)][1:]
    parts = ((start, kind.name, text[start:end].rstrip()) for (start, kind), end in zip(found, ends, strict=True))
    return [Token(part.decode(), start, start + len(part), kind) for start, kind, part in parts]
