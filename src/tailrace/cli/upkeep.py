"""What is due in a lake by its configuration: for `maintain`, and behind a collection once a day."""

from __future__ import annotations

import sys
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import TYPE_CHECKING

import click

from tailrace.cli.redact import visible, visible_error, visible_line
from tailrace.core.errors import LakeError, LockedError, TailraceError, one_line

if TYPE_CHECKING:
    from tailrace.config import Config
    from tailrace.lake.paths import Lake
    from tailrace.lake.resting import Rule
    from tailrace.lake.upkeep import Chore


@dataclass(slots=True)
class Upkeep:
    """A look at the lake, and what came of it."""

    lake: Lake
    config: Config
    now: datetime
    due: list[Chore] = field(default_factory=list)
    done: list[Chore] = field(default_factory=list)
    troubles: list[tuple[str, TailraceError]] = field(default_factory=list)
    "Names of tables and partitions, and why nothing could be done there."

    @property
    def exit_code(self) -> int:
        """0, 5 or 6: a broken file is worse than somebody else at work."""
        return max((error.exit_code for _, error in self.troubles), key=lambda code: code == 5, default=0)

    def relink(self, tables: Collection[str]) -> None:
        """Links to tiers that are missing; where they cannot be made, what rests there cannot be seen."""
        from tailrace.lake.mounted import relink

        for table in sorted(tables):
            try:
                relink(self.lake, table)
            except (TailraceError, OSError) as error:
                self._trouble(table, error)

    def look(self, names: Collection[tuple[str, str]]) -> None:
        """What is due in those partitions; a table that is damaged does not keep the others from it."""
        for table in sorted({table for table, _ in names}):
            partitions = [partition for owner, partition in names if owner == table]
            try:
                self._require_tiers(table, partitions)
                self.due += self._due(table, partitions)
            except (TailraceError, OSError) as error:
                self._trouble(table, error)

    def _require_tiers(self, table: str, partitions: Collection[str]) -> None:
        """A disk that is not mounted is told, also when no day is to be moved there now."""
        from tailrace.lake.mounted import is_noted, require_mounted

        for tier in {rule.tier for partition in partitions for rule in self._rules(table, partition)}:
            try:
                if tier.place.is_local and is_noted(self.lake, tier):
                    require_mounted(self.lake, tier)
            except LakeError as error:
                self._trouble(f"tier {tier.store}.{tier.name}", error)

    def _rules(self, table: str, partition: str) -> Sequence[Rule]:
        from tailrace.cli.tiers import rules_for

        return rules_for(self.config, self.lake, table, partition, self.now)

    def _due(self, table: str, partitions: Collection[str]) -> list[Chore]:
        from tailrace.config.retention import retention_of
        from tailrace.lake.upkeep import due

        def first_day(partition: str) -> date | None:
            retention = retention_of(self.config, self.lake.workspace, table, partition)
            return None if retention is None else retention.first_day(self.now)

        return [*due(self.lake, table, partitions, first_day, self.now, lambda name: self._rules(table, name))]

    def carry_out(self, *actions: str) -> None:
        """Those of the things due, one by one."""
        from tailrace.cli.redact import command_line
        from tailrace.lake.upkeep import carry_out

        command = command_line(sys.argv[1:])
        for chore in [chore for chore in self.due if chore.action in actions]:
            try:
                done = carry_out(self.lake, chore, command, self.now)
            except (TailraceError, OSError) as error:
                self._trouble(chore.name, error)
                continue
            self.done.append(done)
            if done.stopped is not None:
                self._trouble(chore.name, done.stopped)

    def _trouble(self, name: str, error: TailraceError | OSError) -> None:
        if isinstance(error, OSError):
            where = error.filename or str(self.lake.home)
            error = LakeError(error.strerror or one_line(error), code="lake.io", where=where)
        told = {(each.code, each.where) for _, each in self.troubles if each.code == "lake.tier-not-mounted"}
        if (error.code, error.where) not in told:  # one disk, however many days would go there
            self.troubles.append((name, error))

    def tell_troubles(self) -> None:
        """On stderr."""
        from tailrace.cli.hints import hint_of

        for name, error in self.troubles:
            click.secho(f"warning[{error.code}]: ", fg="yellow", nl=False, err=True)
            click.echo(f"{name}: {visible_error(error)}", err=True)
            if hint := hint_of(error):
                click.echo(f"  hint: {visible(hint)}", err=True)


def keep_up(lake: Lake, config: Config, names: Collection[tuple[str, str]], quiet: bool) -> None:
    """Behind a collection: what is due in those partitions, if it has been a day. It never spoils the collection."""
    try:
        _keep_up(lake, config, names, quiet)
    except (TailraceError, OSError) as error:
        click.echo(f"warning: what is due was not done: {visible_line(one_line(error))}", err=True)


def _keep_up(lake: Lake, config: Config, names: Collection[tuple[str, str]], quiet: bool) -> None:
    from tailrace.cli.settings import now
    from tailrace.lake.table import exists
    from tailrace.lake.upkeep import is_time, note_time

    moment = now()
    stored = [(table, partition) for table, partition in names if exists(lake.table_root(table))]
    todo = [name for name in stored if is_time(lake, *name, moment)]
    if not todo:
        return
    upkeep = Upkeep(lake, config, moment)
    upkeep.look(todo)
    upkeep.carry_out("expire", "purge", "move", "vacuum", "checkpoint")
    for name in todo:
        note_time(lake, *name, moment)
    # Whoever holds a partition now keeps us from nothing that cannot wait for a day.
    upkeep.troubles = [each for each in upkeep.troubles if not isinstance(each[1], LockedError)]
    upkeep.tell_troubles()
    for chore in upkeep.done if not quiet else ():
        click.echo(f"{chore.name}: {told(chore)}", err=True)


def told(chore: Chore) -> str:
    """What was done, in words."""
    from tailrace.cli.summary import count, size

    match chore.action:
        case "expire":
            return f"{count(chore.rows, 'row')} of {count(chore.days, 'day')} up to {chore.last} expired"
        case "purge":
            return f"{count(chore.rows, 'quarantined record')} expired"
        case "move":
            return f"{count(chore.days, 'day')} ({size(chore.bytes)}) moved to {chore.to}"
        case "vacuum":
            return f"{count(chore.files, 'file')} ({size(chore.bytes)}) that no version needs deleted"
    return f"checkpoint of the log after {count(chore.files, 'version')}"
