"""The TCP listener: FlatBuffers batches behind their length."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from itertools import groupby

import numpy as np

from tailrace.streams import records
from tailrace.streams.api_keys import Tenant
from tailrace.streams.connections import Connections
from tailrace.streams.decode import LAYOUTS
from tailrace.streams.flat_batches import Wrappers
from tailrace.streams.flat_wire import Wire
from tailrace.streams.intake import Intake, now
from tailrace.streams.records import Identity, Record, address
from tailrace.streams.settings import ListenerOptions

HELD = 256 << 20
"Bytes of frames that have not come to their end, at the most: nobody knows whose they are before."
_Frame = tuple[Tenant, bytes, Identity, int, int]


class TcpListener(Connections):
    """Connections of one listener. There is no answer on the wire: a frame is promised once it is on disk."""

    def __init__(self, options: ListenerOptions, intake: Intake) -> None:
        assert options.api_keys_file is not None
        super().__init__(options, intake)
        self.keys = options.api_keys_file
        intake.load_keys(self.keys)
        self.max_frame = int(options.args["max_frame"])
        self.layout = LAYOUTS.index(options.args["event_layout"])
        self.patience = options.args["frame_timeout"].total_seconds()
        self._held = 0
        "Bytes of frames that have not come to their end, of all connections."

    async def attend(self, reader: asyncio.StreamReader, peer: str) -> None:
        """Frames, one after another."""
        held, counted, begun = bytearray(), 0, 0.0
        try:
            while True:
                if await self.intake.has_room():  # as long as nothing was read, nobody was slow
                    begun = time.monotonic()
                left = begun + self.patience - time.monotonic() if held else None
                block = await self.intake.read(reader, left)
                if not block:
                    break
                begun = begun if held else time.monotonic()
                held += block
                spans, used, lost = self._cut(held)
                if spans:
                    await self._keep(bytes(held[:used]), spans, peer)
                    del held[:used]
                    begun = time.monotonic()
                self._held += len(held) - counted
                counted = len(held)
                # Where the next frame begins cannot be told any more; or there is no end in sight.
                if lost or (held and (time.monotonic() - begun > self.patience or self._is_too_much(len(held)))):
                    break
                await self.slowed(peer, len(spans))
        finally:
            self._held -= counted
        if held:
            self.intake.count("messages_malformed", self.options.id)

    def _is_too_much(self, held: int) -> bool:
        """Does a connection hold more than its share of too much? Those with small frames do not notice."""
        return self._held > HELD and held > HELD // max(len(self.connections), 1)

    def _cut(self, held: bytearray) -> tuple[list[tuple[int, int]], int, bool]:
        """Whole frames at the front, the bytes that they take, and whether the next is too large."""
        spans: list[tuple[int, int]] = []
        at = 0
        while at + 4 <= len(held):
            size = int.from_bytes(held[at : at + 4])
            if size > self.max_frame:
                return spans, at, True
            if at + 4 + size > len(held):
                break
            spans.append((at + 4, at + 4 + size))
            at += 4 + size
        return spans, at, False

    async def _keep(self, data: bytes, spans: list[tuple[int, int]], peer: str) -> None:
        moment = now()
        frames = self._fresh(data, spans, peer, moment)
        made = []
        for (tenant, sender), group in groupby(frames, key=lambda frame: (frame[0], frame[1])):
            whole = list(group)
            body = b"".join(data[start - 4 : end] for *_, start, end in whole)
            identities = tuple(identity for _, _, identity, _, _ in whole if identity.batch_id)
            made.append(Record(
                records.FRAMES, tenant.workspace, moment, sender, self.options.id, body, tenant.id, identities,
                self.layout,
            ))  # fmt: skip
        await self.intake.keep(made)

    def _fresh(self, data: bytes, spans: list[tuple[int, int]], peer: str, moment: int) -> Iterator[_Frame]:
        """Frames of known keys that were not sent before."""
        listener, intake = self.options.id, self.intake
        starts, ends = (np.array(side, np.int64) for side in zip(*spans, strict=True))
        told = Wrappers.of(Wire(data), starts, ends)
        sender = address(peer)
        forwarding = self.addresses.proxies.has(peer)
        for place, (start, end) in enumerate(spans):
            intake.count("messages_received", listener)
            if not told.ok[place]:
                intake.count("messages_malformed", listener)
                continue
            at = int(told.key_at[place])
            tenant = intake.tenant(self.keys, data[at : at + 16])
            if tenant is None:
                intake.count("auth_failures", listener)
                continue
            identity = Identity.of(int(told.batch_id[place]), data[int(told.low[place]) : int(told.high[place])])
            if not all(intake.fresh(listener, tenant.id, (identity,), moment)):
                continue
            ip_at = int(told.ip_at[place])
            named = data[ip_at : ip_at + 16] if forwarding and ip_at >= 0 else sender
            yield tenant, named, identity, start, end
