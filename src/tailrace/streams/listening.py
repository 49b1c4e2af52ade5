"""The process of listeners: all of them on one event loop, one spool behind them."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from tailrace.core.errors import TailraceError
from tailrace.core.open_files import allow_more, allowed
from tailrace.streams.intake import Intake
from tailrace.streams.live_metrics import page
from tailrace.streams.opened import Opened
from tailrace.streams.pull_settings import PullOptions
from tailrace.streams.pulling import Puller
from tailrace.streams.settings import ListenerOptions
from tailrace.streams.spool import Spool, SpoolLimits
from tailrace.streams.status import Told

_TURN = 0.0005
"Seconds after which a thread that computes makes way for another; usually it is 5 ms."
_OWN_FILES = 200
"Files that are no connections: segments of the spool, sockets that listen, and what Python has open."


class Listening:
    """Opens every listener, changes them as the configuration does, and closes them so that nothing is lost."""

    def __init__(
        self,
        listeners: Sequence[ListenerOptions],
        sinks: Sequence[Told],
        root: Path,
        limits: SpoolLimits,
        pulls: Sequence[PullOptions] = (),
        say: Callable[[str], None] = lambda text: None,
    ) -> None:
        self.listeners = listeners
        self.sinks = sinks
        self.say = say
        self.intake = Intake(Spool(root, limits))
        self.intake.spool.forgets = False
        self._pulls = root.with_name(f"{root.name}.pulls")
        self._opened: dict[str, Opened] = {}
        # What they left behind is held against what the spool had, however long ago that was.
        self._pullers = {options.id: self._puller(options) for options in pulls}
        self.intake.spool.forgets = True

    @property
    def places(self) -> dict[str, tuple[str, int]]:
        """Where each listener can be reached."""
        return {name: place for opened in self._opened.values() for name, place in opened.places.items()}

    async def open(self) -> None:
        """All of them, or an error."""
        # The spool's thread has little to do, but those who wait for it wait also for its turn.
        sys.setswitchinterval(_TURN)
        self._allow_connections()
        for options in self.listeners:
            await self._open(options)
        for puller in self._pullers.values():
            puller.start()

    async def change(
        self, listeners: Sequence[ListenerOptions], sinks: Sequence[Told], pulls: Sequence[PullOptions] = ()
    ) -> list[TailraceError]:
        """Ends what is gone or different and begins what is new or different; the others do not notice.

        One that cannot be begun stays as it was, and why is told.
        """
        self.listeners, self.sinks = listeners, sinks
        self._allow_connections()
        await self._change_pulls({options.id: options for options in pulls})
        wanted = {options.id: options for options in listeners}
        ending = {id_: one for id_, one in self._opened.items() if wanted.get(id_) != one.options}
        for id_ in ending:
            del self._opened[id_]
        await asyncio.gather(*(one.close() for one in ending.values()))
        errors: list[TailraceError] = []
        for id_, options in wanted.items():
            if id_ not in self._opened and not await self._opens(options, errors) and id_ in ending:
                await self._opens(ending[id_].options, errors)
        return errors

    def _allow_connections(self) -> None:
        """Where connections leave no file for the spool, nobody can be acknowledged."""
        wanted = sum(int(one.args["max_connections"]) for one in self.listeners) + _OWN_FILES
        if allowed() < wanted:
            allow_more()
        if allowed() < wanted:
            self.say(f"listeners may have more connections than this process may have files ({allowed()}): "
                     f"raise `ulimit -n` to {wanted}, or lower max_connections")  # fmt: skip

    async def _opens(self, options: ListenerOptions, errors: list[TailraceError]) -> bool:
        try:
            await self._open(options)
        except TailraceError as error:
            errors.append(error)
            return False
        return True

    async def _change_pulls(self, wanted: dict[str, PullOptions]) -> None:
        await self._end_pulls([id_ for id_, one in self._pullers.items() if wanted.get(id_) != one.options])
        for id_, options in wanted.items():
            if id_ not in self._pullers:
                self._pullers[id_] = self._puller(options)
                self._pullers[id_].start()

    async def _end_pulls(self, ids: Sequence[str]) -> None:
        ending = [self._pullers.pop(id_) for id_ in ids]
        for puller in ending:
            puller.end()
        await asyncio.gather(*(asyncio.to_thread(puller.ended) for puller in ending))

    def _puller(self, options: PullOptions) -> Puller:
        return Puller(options, self.intake, self._pulls, self.say)

    async def _open(self, options: ListenerOptions) -> None:
        opened = Opened(options, self.intake.part(), lambda: page(self.intake, self.sinks))
        await opened.open()
        self._opened[options.id] = opened

    async def close(self) -> None:
        """Nothing new is accepted, what is under way is finished, and the last segment is closed."""
        self.intake.draining = True
        await asyncio.gather(*(one.close() for one in self._opened.values()), self._end_pulls([*self._pullers]))
        await asyncio.to_thread(self.intake.spool.close)
