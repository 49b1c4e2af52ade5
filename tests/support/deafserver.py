"""A server that takes every connection and never answers."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field


@dataclass
class Deaf:
    """Where it is, and who waits."""

    url: str
    callers: list[socket.socket] = field(default_factory=list)


@contextmanager
def deaf_server() -> Iterator[Deaf]:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        deaf = Deaf(f"http://127.0.0.1:{listener.getsockname()[1]}")

        def serve() -> None:
            while True:
                try:
                    deaf.callers.append(listener.accept()[0])
                except OSError:
                    return

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        try:
            yield deaf
        finally:
            listener.shutdown(socket.SHUT_RDWR)
            thread.join()
            for caller in deaf.callers:
                caller.close()
