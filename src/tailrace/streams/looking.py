"""What a question sees of a sink: its published files, and the rows that wait for them, each row once at any moment.

No lock is held. Manifests are read first, their runs are mapped next, and files are opened last: whatever is published
meanwhile, a row is in a run that was mapped, or in a file that was opened later, whose footer says so. What is mapped
or open stays as it is when its name is deleted or taken by others.
"""

from __future__ import annotations

import errno
import tempfile
import time
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import pyarrow as pa
import pyarrow.parquet as pq

from tailrace.core.errors import LakeError
from tailrace.core.open_files import allow_more
from tailrace.streams import manifests
from tailrace.streams.kinds import schema
from tailrace.streams.manifests import Manifest, Range, Run
from tailrace.streams.sink_files import FileKey, SinkError, through_of
from tailrace.streams.sink_options import SinkOptions
from tailrace.streams.tree import files

Needed = Callable[[Mapping[str, tuple[int, int]]], bool]
"Can rows matter whose columns lie between these bounds?"
_WORTH = 10_000
"Waiting rows from which it pays to find out which of them matter."
_MANY = 8
"Files from which it does."
_HELD = 256
"Files that are held open though no rows wait for them."
_GROUP = 122_880
HANDLES = Path("/proc/self/fd") if Path("/proc/self/fd").is_dir() else Path("/dev/fd")
"What is open, by numbers: a name that leads to the same file whatever becomes of its own."


class Look:
    """Files to be read; some of them only until this is closed, or forgotten."""

    def __init__(self, paths: tuple[str, ...], held: ExitStack) -> None:
        self.paths = paths
        self.close = weakref.finalize(self, held.close)


@dataclass(frozen=True, slots=True)
class _Part:
    """Rows of one file in a run that was mapped."""

    last: int
    key: FileKey
    rows: pa.Table


def look(options: SinkOptions, kind: str, needed: Needed = lambda bounds: True) -> Look:
    """Files of one kind of rows, of all tenants and periods, and what waits."""
    parts = _parts(options, kind)
    if sum(part.rows.num_rows for part in parts) >= _WORTH:
        parts = [part for part in parts if needed(_bounds(part))]
    of_files: dict[FileKey, list[_Part]] = {}
    for part in parts:
        of_files.setdefault(part.key, []).append(part)
    paths: list[str] = []
    waiting: list[_Part] = []
    with ExitStack() as held:
        for key, own in sorted(of_files.items()):
            with ExitStack() as opened:
                path, through = _pinned(opened, key.path(options))
                rest = [part for part in own if part.last > through]
                if rest and path is not None:
                    paths.append(path)
                    held.enter_context(opened.pop_all())
            waiting += rest
        if waiting:
            paths.append(_written(held, schema(kind, options.workspace_id_type, options.data_format), waiting))
        paths += _published(held, options, kind, {part.key for part in waiting}, needed)
        return Look(tuple(paths), held.pop_all())


def _parts(options: SinkOptions, kind: str) -> list[_Part]:
    """Rows in runs, as far as they are still there; those that are not were published before they went."""
    found: list[_Part] = []
    for manifest, run in _standing(options.state, kind):
        try:
            rows = manifests.read_run(options.state, run)
        except FileNotFoundError:
            if manifests.read_folded(options.state).through >= manifest.last:
                continue
            path = options.state / manifests.RUNS / run.file
            raise SinkError("rows that wait to be published are gone", where=str(path)) from None
        found += [_part(manifest, run, part, rows) for part in run.ranges]
    return found


def _part(manifest: Manifest, run: Run, part: Range, rows: pa.Table) -> _Part:
    return _Part(manifest.last, FileKey(part.workspace, part.period, run.kind), rows.slice(part.start, part.rows))


def _standing(state: Path, kind: str) -> Iterator[tuple[Manifest, Run]]:
    """Runs that manifests name; whoever publishes may delete any of them meanwhile."""
    folded = manifests.read_folded(state).through
    for manifest in manifests.read_manifests(state):
        if manifest.last > folded:
            yield from ((manifest, run) for run in manifest.runs if run.kind == kind)


def _bounds(part: _Part) -> dict[str, tuple[int, int]]:
    """Rows of a part are sorted by time."""
    times = part.rows["timestamp"]
    return {
        "workspace_id": (part.key.workspace, part.key.workspace),
        "timestamp": (times[0].as_py(), times[-1].as_py()),
    }


def _pinned(held: ExitStack, path: Path) -> tuple[str | None, int]:
    """A published file as it is now, and the last segment whose rows are in it; None: there is no file."""
    file = _opened(path)
    if file is None:
        return None, 0
    held.enter_context(file)
    try:
        return str(HANDLES / str(file.fileno())), through_of(pq.read_metadata(file)) or 0
    except pa.ArrowInvalid:  # damaged: whoever reads it is told by its name
        return str(path), 0


def _opened(path: Path) -> BinaryIO | None:
    try:
        return path.open("rb")
    except FileNotFoundError:
        return None
    except OSError as error:
        if error.errno != errno.EMFILE or not allow_more():
            raise LakeError(
                f"cannot be opened: {error.strerror}", code="query.open-files", where=str(path),
                hint="raise the number of files that a process may have open (`ulimit -n`), or ask for fewer tenants",
            ) from None  # fmt: skip
        return _opened(path)


def _written(held: ExitStack, wanted: pa.Schema, waiting: Iterable[_Part]) -> str:
    """Rows that wait as a Parquet file without a name, which is gone with whoever reads it."""
    whole = pa.concat_tables(_fitted(part.rows, wanted) for part in waiting)
    file = held.enter_context(tempfile.TemporaryFile())  # noqa: SIM115 (it is closed with `held`)
    pq.write_table(
        whole, file, row_group_size=_GROUP, compression="none", use_dictionary=False,
        write_statistics=["timestamp", "workspace_id"],
    )  # fmt: skip
    file.flush()
    return str(HANDLES / str(file.fileno()))


def _fitted(rows: pa.Table, wanted: pa.Schema) -> pa.Table:
    """With the columns of the sink as it is configured now; rows that wait may be of another time."""
    if rows.schema.equals(wanted):
        return rows
    present = set(rows.column_names)
    columns = [
        rows[one.name].cast(one.type) if one.name in present else pa.nulls(rows.num_rows, one.type) for one in wanted
    ]
    return pa.table(columns, schema=wanted)


def _published(
    held: ExitStack, options: SinkOptions, kind: str, covered: set[FileKey], needed: Needed
) -> Iterator[str]:
    """All other files, which have no rows that wait, or none that matter.

    DuckDB opens a file once for its footer and again for its rows: those that may be renewed meanwhile are held, too,
    up to a number.
    """
    found = [key for key in files(options) if key.kind == kind and key not in covered]
    if len(found) >= _MANY:
        tenants = {key.workspace for key in found}
        chosen = {one for one in tenants if needed({"workspace_id": (one, one)})}
        found = [key for key in found if key.workspace in chosen]
    over = time.time() * 1000 - options.max_lateness.total_seconds() * 1000 - options.period
    newest = sorted((key for key in found if key.period > over), key=lambda key: key.period, reverse=True)[:_HELD]
    changing = set(newest)
    for key in found:
        path = key.path(options)
        file = _opened(path) if key in changing else None
        yield str(path) if file is None else str(HANDLES / str(held.enter_context(file).fileno()))
