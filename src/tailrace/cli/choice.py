"""What a collection is asked to collect: configured partitions, or files named on the command line."""

from __future__ import annotations

import hashlib
import os
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from tailrace.core.errors import UsageError

if TYPE_CHECKING:
    from tailrace.cli.options import Context
    from tailrace.config import Config, PartitionSpec

STDIN = "-"
LOOSE = "files"
"The partition of files that `--file` names, unless `--partition` says another."
_BLOCK = 1 << 20


@dataclass(frozen=True, slots=True)
class Choice:
    """Selectors and files as typed."""

    selectors: tuple[str, ...]
    files: tuple[str, ...]
    table: str | None
    partition: str | None
    source: str | None = None
    "The only source of the partitions that is collected."

    def resolved(self, config: Config) -> Choice:
        """`PARTITION SOURCE` as `PARTITION --source SOURCE`, where the second is a source of the first."""
        if self.source is not None or len(self.selectors) != 2:
            return self
        first, second = self.selectors
        partitions = [spec for spec in config.partitions if first in (spec.name, spec.full_name)]
        if len(partitions) != 1 or second not in (source.name for source in partitions[0].sources):
            return self
        if any(second in (spec.table, spec.name, spec.full_name) for spec in config.partitions):
            raise UsageError(
                f"'{second}' is a source of {partitions[0].full_name}, and more than that",
                code="usage.source-or-partition",
                hint=f"write --source {second}, or the full name of the partition",
            )
        return replace(self, selectors=(first,), source=second)

    def specs(self, config: Config, context: Context) -> list[PartitionSpec]:
        """The partitions that are meant."""
        if self.files:
            if self.source is not None:
                raise UsageError("--source does not go with --file", code="usage.source-of-files")
            return [self._loose(config, context)]
        for option, value in (("--table", self.table), ("--partition", self.partition)):
            if value is not None:
                raise UsageError(f"{option} goes with --file", code="usage.only-with-file", hint=f"write {value} alone")
        specs = _configured(config, self.selectors, context)
        return specs if self.source is None else narrowed(specs, self.source)

    def forget_stdin(self, context: Context) -> None:
        """Once collected, what came by stdin is not kept."""
        if STDIN in self.files:
            for path in _folder(context).glob("*"):
                path.unlink(missing_ok=True)

    def _loose(self, config: Config, context: Context) -> PartitionSpec:
        from tailrace.config.declare import NAME
        from tailrace.config.model import PartitionSpec, SourceSpec
        from tailrace.config.places import Where
        from tailrace.config.tables import tables_for

        if self.table is None or self.selectors:
            raise UsageError(
                "--file needs --table, and no other names",
                code="usage.which-table",
                hint="tailrace collect --file access.log --table nginx_access_log; `tailrace table list` shows tables",
            )
        if not NAME.fullmatch(self.partition or LOOSE):
            hint = "use letters, digits, underscores, dashes and blanks, as in the configuration"
            raise UsageError(f"--partition: '{self.partition}' is not a name", code="usage.bad-name", hint=hint)
        table = tables_for(config, self.table).name
        where = Where("--file", 0, 0)
        paths = tuple(_kept(context) if f == STDIN else os.path.abspath(os.path.expanduser(f)) for f in self.files)
        source = SourceSpec("file", "file", {"paths": paths}, None, None, where)
        return PartitionSpec(table, self.partition or LOOSE, (source,), None, None, where)


def narrowed(specs: list[PartitionSpec], name: str) -> list[PartitionSpec]:
    """The partitions that have such a source, with it alone."""
    from tailrace.config.places import meant

    found = [replace(s, sources=tuple(one for one in s.sources if one.name == name)) for s in specs]
    found = [spec for spec in found if spec.sources]
    if not found:
        known = {source.name for spec in specs for source in spec.sources}
        raise UsageError(f"there is no source '{name}' here", code="usage.no-such-source", hint=meant(name, known))
    return found


def _configured(config: Config, selectors: tuple[str, ...], context: Context) -> list[PartitionSpec]:
    from tailrace.cli.hints import BEGIN
    from tailrace.cli.layers import searched
    from tailrace.config import require_available, select
    from tailrace.pipeline.check import check_patterns

    specs = select(config, selectors)
    if not specs:
        message = f"no partition is configured in {searched(context)}"
        raise UsageError(message, code="usage.nothing-configured", hint=BEGIN)
    for spec in specs:
        for source in spec.sources:
            require_available(source)
    check_patterns(config, specs)
    return specs


def _folder(context: Context) -> Path:
    return context.home_path / "stdin"


def _kept(context: Context) -> str:
    """What stdin holds, as a file called by its content: the same bytes again are the same artifact."""
    folder = _folder(context)
    folder.mkdir(parents=True, exist_ok=True)
    digest = hashlib.blake2b(digest_size=16)
    staged = folder / f".{os.getpid()}.part"
    try:
        with staged.open("wb") as file:
            while block := sys.stdin.buffer.read(_BLOCK):
                digest.update(block)
                file.write(block)
        # Content says what it is: a new time of change must not make it another version.
        os.utime(staged, ns=(0, 0))
        kept = folder / digest.hexdigest()
        staged.replace(kept)
    except BaseException:  # Ctrl-C, too
        staged.unlink(missing_ok=True)
        raise
    return str(kept)
