"""SIGHUP while `tailrace serve` runs: the configuration is read again, and what concerns a part is changed there."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

import click

from tailrace.core.errors import TailraceError

if TYPE_CHECKING:
    from tailrace.cli.serve import Served
    from tailrace.streams.listening import Listening

RELOADS, ERRORS = "config_reloads", "config_reload_errors"


class ListenersAgain:
    """In the process of listeners: files of keys, then listeners and pulls; what did not change goes on."""

    def __init__(self, listening: Listening, read: Callable[[], Served], say: Callable[[str], None]) -> None:
        self.listening = listening
        self.read = read
        self.say = say
        self._told: dict[str, tuple[str, int]] = {}
        self._turn = asyncio.Lock()
        self._looks: set[asyncio.Task[None]] = set()

    def tell(self) -> None:
        """Where listeners are that were elsewhere before, or not there."""
        places = self.listening.places
        for name, place in places.items():
            if self._told.get(name) != place:
                self.say(f"listener {name} on {place[0]}:{place[1]}")
        self._told = places

    def heed(self) -> None:
        """A signal's handler."""
        look = asyncio.get_running_loop().create_task(self.look())
        self._looks.add(look)
        look.add_done_callback(self._looks.discard)

    async def look(self) -> None:
        async with self._turn:
            self._keys()
            try:
                served = await asyncio.to_thread(self.read)
            except TailraceError as error:
                self._failed([error])
                return
            errors = await self.listening.change(served.listeners, served.told, served.pulls)
            self.tell()
            if errors:
                self._failed(errors)
            else:
                self.listening.intake.count(RELOADS, "")
                click.echo("configuration: read again", err=True)

    def _keys(self) -> None:
        from tailrace.cli.main import report

        errors = self.listening.intake.reload_keys()
        for error in errors:
            report(error)
        click.echo("API keys: " + ("the earlier ones hold" if errors else "read again"), err=True)

    def _failed(self, errors: list[TailraceError]) -> None:
        from tailrace.cli.main import report

        self.listening.intake.count(ERRORS, "")
        for error in errors:
            report(error)
        click.echo("configuration: the earlier one holds", err=True)


class DriverAgain:
    """In the driver: if anything of its sinks has changed, it stores and publishes what there is, and is begun again.

    Listeners go on meanwhile. They tell what is wrong with a configuration; here the earlier one holds as well.
    """

    def __init__(self, earlier: Served, read: Callable[[], Served], stop: threading.Event) -> None:
        self.earlier = earlier
        self.read = read
        self.stop = stop
        self.is_due = False

    def look(self, *_: object) -> None:
        """A signal's handler; reading takes too long for one."""
        threading.Thread(target=self._look, daemon=True).start()

    def _look(self) -> None:
        try:
            changed = self.read().stored != self.earlier.stored
        except TailraceError:
            return
        if changed:
            self.is_due = True
            self.stop.set()
