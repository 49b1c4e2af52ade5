"""Places in an object store: S3, Google Cloud Storage, Azure. obstore is imported where a request is made."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from itertools import islice
from typing import TYPE_CHECKING

from tailrace.clouds.container import Container
from tailrace.clouds.errors import HINT, is_not_implemented, is_of_this_machine, patiently, told
from tailrace.core.errors import DENIED, LakeError, LockedError, TailraceError
from tailrace.lake.place import Draft, Place
from tailrace.lake.steps import reached

if TYPE_CHECKING:
    import pyarrow as pa
    from obstore import PutResult
    from obstore.store import ObjectStore

PART = 16 << 20
"Bytes of a file that are sent in one request; larger files are sent in such parts, and appear when the last is there."
PARTS_AT_ONCE = 2
UPLOADS_AT_ONCE = 3
BLOCK = 8 << 20
"Bytes of a file that is fetched that lie in memory at a time."
DELETED_AT_ONCE = 1000
ATTEMPTS = 5
NEW, UNCHANGED = "If-None-Match", "If-Match"
"Conditions of a put, as they are called over HTTP."
_NO_BUCKET = ("no such bucket", "no such container")
_MAKE_IT = "check its name, or make it: Tailrace makes none; `tailrace connection test` tells who you are"


@dataclass(frozen=True, slots=True, repr=False)
class ObjectPlace(Place):
    """All objects whose keys begin alike."""

    container: Container
    prefix: str = ""
    "Without slashes at its ends."

    def __repr__(self) -> str:
        return f"ObjectPlace({self.uri!r})"

    @property
    def uri(self) -> str:
        return f"{self.container.uri}/{self.prefix}" if self.prefix else self.container.uri

    @property
    def delta_uri(self) -> str:
        return f"{self.container.delta_uri}/{self.prefix}"

    @property
    def is_local(self) -> bool:
        return False

    @property
    def storage_options(self) -> Mapping[str, str]:
        with answered(self.uri):
            return self.container.delta_options()

    @property
    def renews_keys(self) -> bool:
        return self.container.renews_keys

    def __truediv__(self, name: str) -> ObjectPlace:
        return ObjectPlace(self.container, self.key(name))

    def key(self, name: str) -> str:
        return f"{self.prefix}/{name}" if self.prefix else name

    @property
    def store(self) -> ObjectStore:
        return self.container.store()

    # What there is

    def exists(self) -> bool:
        return next(self.walk(), None) is not None

    def names(self, after: str = "") -> list[str]:
        return sorted(name for name in self._listed("", after) if "/" not in name)

    def holds(self, suffix: str) -> bool:
        return any(name.endswith(suffix) and "/" not in name for name in self._listed(""))

    def folders(self) -> list[str]:
        import obstore

        with answered(self.uri):
            found = obstore.list_with_delimiter(self.store, self.prefix)["common_prefixes"]
        return sorted(prefix.rstrip("/").rpartition("/")[2] for prefix in found)

    def walk(self, below: str = "") -> Iterator[str]:
        return self._listed(below)

    def sizes(self, names: Iterable[str]) -> dict[str, int]:
        wanted = set(names)
        # They come by the thousand.
        return {name: size for name, size in self._listed_with_sizes("") if name in wanted} if wanted else {}

    def sizes_behind(self, after: str) -> dict[str, int]:
        return {name: size for name, size in self._listed_with_sizes("", after) if "/" not in name}

    def _listed(self, below: str, after: str = "") -> Iterator[str]:
        return (name for name, _ in self._listed_with_sizes(below, after))

    def _listed_with_sizes(self, below: str, after: str = "") -> Iterator[tuple[str, int]]:
        """Page by page, so that who needs but the first asks once."""
        import obstore

        begin = len(self.prefix) + 1 if self.prefix else 0
        with answered(self.uri):
            under = self.key(below) if below else self.prefix
            offset = self.key(after) if after else None
            for page in obstore.list(self.store, under, offset=offset, chunk_size=1000):
                yield from ((meta["path"][begin:], meta["size"]) for meta in page)

    def size(self, name: str) -> int:
        import obstore

        with answered(self.address(name)):
            return obstore.head(self.store, self.key(name))["size"]

    # Small objects, and deleting

    def read(self, name: str) -> bytes:
        import obstore

        with answered(self.address(name)):
            return bytes(patiently(lambda: obstore.get(self.store, self.key(name)).bytes()))

    def put(self, name: str, data: bytes, owner: str) -> None:
        import obstore

        reached("object-staged")
        with answered(self.address(name)):
            obstore.put(self.store, self.key(name), data)

    def put_if_absent(self, name: str, data: bytes, owner: str) -> bool:
        reached("segment-staged")
        for _ in range(ATTEMPTS):
            if self.put_new(name, data) is not None:
                return True
            # Two puts at once may be told of each other before either is there.
            with suppress(FileNotFoundError):
                # An answer that was lost is asked for again, and then it is our own object that is there.
                return self.read(name) == data
        raise LakeError("it is neither there nor can it be put", code="lake.io", where=self.address(name))

    def put_new(self, name: str, data: bytes) -> PutResult | None:
        """Put what is not there yet; None if it seems to be."""
        import obstore
        from obstore.exceptions import AlreadyExistsError

        with answered(self.address(name)):
            try:
                return obstore.put(self.store, self.key(name), data, mode="create")
            except AlreadyExistsError:
                return None
            except Exception as error:
                if is_not_implemented(error):
                    raise no_conditions(self, NEW) from None
                raise

    def require_conditions(self, name: str) -> None:
        """A server that takes no notice of conditions puts a second time what is there."""
        if self.put_new(name, b"") is not None:
            raise no_conditions(self, NEW)

    def delete(self, names: Iterable[str]) -> None:
        import obstore

        doomed = iter(names)
        while keys := [self.key(name) for name in islice(doomed, DELETED_AT_ONCE)]:
            with answered(self.uri):
                try:
                    obstore.delete(self.store, keys)
                except FileNotFoundError:
                    for key in keys:
                        with suppress(FileNotFoundError):
                            obstore.delete(self.store, key)

    def clear_staged(self) -> None:
        """Objects appear whole or not at all."""

    def clear(self) -> None:
        self.delete(self.walk())

    # Parquet

    def open(self, name: str) -> pa.NativeFile:
        import pyarrow as pa

        from tailrace.lake.object_file import ObjectFile

        return pa.PythonFile(ObjectFile(self, name), mode="r")

    def fetch(self, name: str, target: str) -> int:
        import obstore

        def get() -> int:
            with open(target, "wb") as file:
                for block in obstore.get(self.store, self.key(name)).stream(min_chunk_size=BLOCK):
                    file.write(block)
                return file.tell()

        with answered(self.address(name)):
            return patiently(get)

    def create(self, name: str) -> Draft:
        return _Upload(self, name)


class _Upload:
    """Written to a file without a name on this machine's disk, which goes with the process; then sent as a whole."""

    def __init__(self, place: ObjectPlace, name: str) -> None:
        self._place, self._name = place, name
        self._file = tempfile.TemporaryFile(prefix="tailrace-")  # noqa: SIM115
        self._sent: Future[None] | None = None

    @property
    def path(self) -> str:
        return f"/dev/fd/{self._file.fileno()}"

    def size(self) -> int:
        return os.fstat(self._file.fileno()).st_size

    def close(self) -> int:
        size = self.size()
        self._sent = _uploads().submit(self._send)
        return size

    def wait(self) -> None:
        assert self._sent is not None
        self._sent.result()

    def discard(self) -> None:
        if self._sent is None or self._sent.cancel():
            self._file.close()
            return
        with suppress(TailraceError):
            self._sent.result()
        self._place.delete([self._name])

    def _send(self) -> None:
        import obstore

        with answered(self._place.address(self._name)), self._file:
            self._file.seek(0)
            key = self._place.key(self._name)
            obstore.put(self._place.store, key, self._file, chunk_size=PART, max_concurrency=PARTS_AT_ONCE)


@cache
def _uploads() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(UPLOADS_AT_ONCE, thread_name_prefix="upload")


@contextmanager
def answered(where: str) -> Iterator[None]:
    """What servers answer becomes an error of the lake, in words that hold no key."""
    try:
        yield
    except (FileNotFoundError, LakeError, LockedError):
        raise
    except TailraceError as error:
        raise LakeError(error.message, code=_code(error.code), where=where, hint=error.hint) from None
    except Exception as error:
        if is_of_this_machine(error):
            raise
        raise refused(error, where) from None


def refused(error: Exception, where: str) -> LakeError:
    """What a server said, as an error of the lake."""
    reason, code = told(error)
    hint = HINT if code == DENIED else _MAKE_IT if reason.startswith(_NO_BUCKET) else None
    return LakeError(reason, code=_code(code), where=where, hint=hint)


def no_conditions(place: ObjectPlace, condition: str) -> LakeError:
    message = f"the server knows no conditional puts ({condition}), without which writers undo each other's work"
    hint = "a newer version may, or a way to it without a proxy; Amazon's S3, Google Cloud Storage and Azure do"
    return LakeError(message, code="lake.no-conditional-put", where=place.uri, hint=hint)


def _code(code: str) -> str:
    return code if code.startswith("config.") else f"lake.{code.removeprefix('source.')}"
