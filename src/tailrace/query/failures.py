"""Why a statement failed: its SQL, a lake that refuses, or a file of the lake that is not what it was."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from tailrace.core.errors import LakeError, QueryError
from tailrace.query.duck import duckdb

MOST_READ = 2 << 30
"Bytes of files that are read to find the one that is damaged, where DuckDB does not name it."
_NO_VALUE = re.compile("Values were not provided for the following parameters")
_TRACE = "\n\nStack Trace:"
"What DuckDB tells of itself behind an error of its own."
_LINE = re.compile(r"^LINE (\d+):(.*\n)", re.MULTILINE)
_OF_SQL = (
    duckdb.CatalogException,
    duckdb.BinderException,
    duckdb.ParserException,
    duckdb.OutOfMemoryException,
    duckdb.InterruptException,
)
"Errors that come before a file is opened, or say nothing of it."
_OF_FILES = re.compile(
    r"\.parquet\b|parquet|thrift|TProtocol|TTransport|TType|what type|decompress|magic bytes|corrupt|snappy|zstd"
    r"|enough bytes|page header|out of buffer|\bCRC\b",
    re.IGNORECASE,
)
"DuckDB says of most damage no more than what its library for footers and pages does."


def damaged_file(error: Exception | str, files: Iterable[str], size: int) -> LakeError | None:
    """Which file of a statement is missing or damaged, if that is why it failed; `size`: bytes of all of them."""
    if isinstance(error, _OF_SQL) or not _OF_FILES.search(str(error)):
        return None
    paths = list(dict.fromkeys(files))
    named = [path for path in paths if path in str(error)]
    for path in named or (paths if size <= MOST_READ else ()):
        found = _wrong_with(path)
        if found is not None:
            return found
    return None


def _wrong_with(path: str) -> LakeError | None:
    from tailrace.lake.damage import COLLECT_AGAIN, DAMAGED_FILE, reading_file, unreadable
    from tailrace.lake.place import LocalPlace
    from tailrace.lake.table_place import LINKS

    directory, name = os.path.split(path)
    root, _, moved = path.partition(f"/{LINKS}/")
    if moved:  # by this name it is known that the tier is not mounted
        directory, name = root, f"{LINKS}/{moved}"
    try:
        with reading_file(LocalPlace(directory), name) as file:
            for group in range(file.num_row_groups):
                file.read_row_group(group)
    except LakeError as error:
        return error
    except OSError as error:  # whatever else Arrow meets in bytes that are not its own has no number
        if error.errno is None:
            return LakeError(f"the file cannot be read: {error}", code=DAMAGED_FILE, where=path, hint=COLLECT_AGAIN)
        return unreadable(error, path)
    return None


def of_lake(error: LakeError) -> QueryError:
    """The query cannot be answered, and not because of its SQL: the exit code says so."""
    told = QueryError(error.message, code=error.code, where=error.where, hint=error.hint)
    told.exit_code = error.exit_code
    return told


@contextmanager
def placed(before: int) -> Iterator[None]:
    """DuckDB counts the lines of its statement: those that stand before it are added."""
    try:
        yield
    except QueryError as error:
        error.message = _LINE.sub(lambda found: _further(found, before), error.message)
        raise


def _further(found: re.Match[str], lines: int) -> str:
    number = str(int(found[1]) + lines)
    return f"LINE {number}:{found[2]}{' ' * (len(number) - len(found[1]))}"


def refused(error: Exception | str, hint: str | None = None) -> QueryError:
    """What DuckDB says, with what may be done about it."""
    if isinstance(error, duckdb.OutOfMemoryException) or str(error).startswith("Out of Memory Error"):
        hint = "look at fewer rows or columns at once, or allow it more with --memory"
        return QueryError(str(error).strip().splitlines()[0], code="query.memory", hint=hint)
    if isinstance(error, duckdb.ResourceInUseException):
        hint = "ask again in a while: what one function makes at a go ends only when it is made"
        return QueryError("the statement before this one has not ended yet", code="query.busy", hint=hint)
    if isinstance(error, duckdb.InternalException | duckdb.FatalException):
        hint = (
            "this is DuckDB's own mistake: say it in another way; a shell answers again after `.quit` and a new start"
        )
    if hint is None and _NO_VALUE.search(str(error)):
        hint = "give it one with --param NAME=VALUE, or --param VALUE for $1, $2 …"
    return QueryError(str(error).partition(_TRACE)[0].strip(), hint=hint)
