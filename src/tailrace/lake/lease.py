"""A lease on a partition in an object store: an object that says who works on it, renewed for as long as he does.

It tells the second one at once that he is second. What keeps two writers from each other's rows is the commit
protocol: a lease that was taken from someone who only seemed dead costs him his run, and the lake nothing.
"""

from __future__ import annotations

import os
import secrets
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import msgspec

from tailrace.clouds.errors import is_not_implemented
from tailrace.clouds.etags import strong
from tailrace.core.errors import LakeError, LockedError
from tailrace.lake.lock import Holder, locked
from tailrace.lake.object_place import UNCHANGED, ObjectPlace, answered, no_conditions

if TYPE_CHECKING:
    from obstore import ObjectMeta, PutResult, UpdateVersion

LASTS = 60.0
"Seconds after its last renewal at which a lease counts for nothing."
RENEWED_EVERY = 15.0
NAME = "lease.json"
CLOCK = "clock"
"An object that is put to see what time the store has."
ATTEMPTS = 5
_held: set[str] = set()
"Tokens of this process."


@dataclass(frozen=True, slots=True)
class Lease:
    """What the object holds; an empty one is nobody's."""

    holder: Holder
    token: str
    renewed: float
    "For the object to change; how old it is the store tells."


@contextmanager
def leased(place: ObjectPlace, name: str, holder: Holder) -> Iterator[None]:
    """Hold the lease for the length of the block, or say at once who does."""
    lease = Lease(holder, secrets.token_hex(8), time.time())
    _held.add(lease.token)  # before another thread can see the lease, and take it for one that was left
    try:
        keeper = _Keeper(place, lease, _taken(place, name, lease))
        keeper.start()
        try:
            yield
        finally:
            keeper.let_go()
    finally:
        _held.discard(lease.token)


def _taken(place: ObjectPlace, name: str, lease: Lease) -> UpdateVersion:
    """The version under which the lease is ours."""
    import obstore

    key, data = place.key(NAME), msgspec.json.encode(lease)
    refused = []
    with answered(place.address(NAME)):
        for _ in range(ATTEMPTS):
            put = place.put_new(NAME, data)
            if put is not None:
                place.require_conditions(NAME)
                return _confirmed(place, data, _version(put))
            with suppress(FileNotFoundError):
                found = obstore.get(place.store, key)
                content, meta = bytes(found.bytes()), found.meta
                if content == data:
                    return _version(meta)  # the answer to our own put was lost
                if content and not _is_left(content) and _age(place, meta) <= LASTS:
                    raise _held_by(content, name, place)
                if (taken := _put_over(place, data, _version(meta))) is not None:
                    return taken
                refused.append(_version(meta))
    if refused == refused[:1] * ATTEMPTS:  # nobody has been there meanwhile
        raise no_conditions(place, UNCHANGED)
    raise _held_by(b"", name, place)


def _confirmed(place: ObjectPlace, data: bytes, version: UpdateVersion) -> UpdateVersion:
    """The version of what we have put first, put once more: where that is refused no lease could ever be let go."""
    import obstore

    again = _put_over(place, data, version)
    if again is not None:
        return again
    found = obstore.get(place.store, place.key(NAME))
    if bytes(found.bytes()) == data and _version(found.meta) != version:
        return _version(found.meta)  # the answer was lost
    raise no_conditions(place, UNCHANGED)


def _put_over(place: ObjectPlace, data: bytes, version: UpdateVersion) -> UpdateVersion | None:
    """Put it where that version is; None where it seems to be no more."""
    import obstore
    from obstore.exceptions import AlreadyExistsError, PreconditionError

    try:
        return _version(obstore.put(place.store, place.key(NAME), data, mode=version))
    except (PreconditionError, AlreadyExistsError, FileNotFoundError):
        return None
    except Exception as error:
        if is_not_implemented(error):
            raise no_conditions(place, UNCHANGED) from None
        raise


def _age(place: ObjectPlace, meta: ObjectMeta) -> float:
    """Seconds, by the store's own clock: those of machines differ."""
    import obstore

    obstore.put(place.store, place.key(CLOCK), b"")
    now = obstore.head(place.store, place.key(CLOCK))["last_modified"]
    return (now - meta["last_modified"]).total_seconds()


def _is_left(content: bytes) -> bool:
    """Was its holder a process of this machine, and is it gone?"""
    lease = _read(content)
    if lease is None or lease.holder.host != socket.gethostname():
        return False
    if lease.holder.pid == os.getpid():
        return lease.token not in _held  # in a container that was started again numbers begin anew
    with suppress(PermissionError):
        try:
            os.kill(lease.holder.pid, 0)
        except ProcessLookupError:
            return True
    return False


def _read(content: bytes) -> Lease | None:
    with suppress(msgspec.DecodeError):
        return msgspec.json.decode(content, type=Lease)
    return None


def _held_by(content: bytes, name: str, place: ObjectPlace) -> LockedError:
    lease = _read(content)
    holder = msgspec.json.encode(lease.holder) if lease else b""
    hint = f"wait for it to end, or stop it; the lease of one that died ends within {LASTS:.0f} seconds"
    return locked(holder, name, place.address(NAME), hint)


def _version(result: PutResult | ObjectMeta) -> UpdateVersion:
    given = {"e_tag": strong(result.get("e_tag")), "version": result.get("version")}
    return {part: value for part, value in given.items() if value}  # type: ignore[return-value]


class _Keeper(threading.Thread):
    """Renews the lease until it is let go or lost."""

    def __init__(self, place: ObjectPlace, lease: Lease, version: UpdateVersion) -> None:
        super().__init__(name="lease", daemon=True)
        self._place, self._lease, self._version = place, lease, version
        self._over = threading.Event()
        self._is_lost = False

    def run(self) -> None:
        while not self._over.wait(RENEWED_EVERY) and not self._is_lost:
            # A store that cannot be reached now may be reached the next time.
            with suppress(LakeError):
                self._write(msgspec.json.encode(replace(self._lease, renewed=time.time())))

    def let_go(self) -> None:
        self._over.set()
        self.join()
        if not self._is_lost:
            with suppress(LakeError):
                self._write(b"")

    def _write(self, data: bytes) -> None:
        with answered(self._place.address(NAME)):
            while not self._is_lost:
                put = _put_over(self._place, data, self._version)
                if put is not None:
                    self._version = put
                    return
                self._is_lost = not self._found_own()

    def _found_own(self) -> bool:
        """Is it still ours, under another version? The answer to our last put may have been lost."""
        import obstore

        try:
            found = obstore.get(self._place.store, self._place.key(NAME))
        except FileNotFoundError:
            return False
        before, self._version = self._version, _version(found.meta)
        lease = _read(bytes(found.bytes()))
        return self._version != before and lease is not None and lease.token == self._lease.token
