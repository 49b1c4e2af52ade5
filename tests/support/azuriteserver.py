"""Azurite, Azure's own stand-in for blobs, from npm."""

from __future__ import annotations

import base64
import fcntl
import hashlib
import hmac
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from email.utils import formatdate
from pathlib import Path

import pytest

ACCOUNT = "devstoreaccount1"
KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
"The key that every Azurite has."
VERSION = "3.37.0"


@dataclass(frozen=True)
class Azurite:
    """Where it listens, and what it noted."""

    url: str
    log: Path

    @property
    def connection_string(self) -> str:
        return f"AccountName={ACCOUNT};AccountKey={KEY};BlobEndpoint={self.url};"

    def container(self, name: str, blobs: dict[str, bytes]) -> None:
        self._put(name, b"", "restype:container")
        for key, data in blobs.items():
            self._put(f"{name}/{key}", data)

    def requests(self) -> list[str]:
        """Methods and paths so far."""
        return [line.split('"')[1] for line in self.log.read_text().splitlines() if '"' in line and "HTTP/1.1" in line]

    def _put(self, path: str, data: bytes, query: str = "") -> None:
        headers = {"x-ms-blob-type": "BlockBlob"} if not query else {}
        headers |= {"x-ms-date": formatdate(usegmt=True), "x-ms-version": "2021-08-06"}
        said = "".join(f"{name}:{value}\n" for name, value in sorted(headers.items()))
        kind = "application/x-www-form-urlencoded" if data else ""
        signed = f"PUT\n\n\n{len(data) or ''}\n\n{kind}\n\n\n\n\n\n\n{said}/{ACCOUNT}/{ACCOUNT}/{path}"
        signed += f"\n{query}" if query else ""
        secret = hmac.new(base64.b64decode(KEY), signed.encode(), hashlib.sha256).digest()
        headers["Authorization"] = f"SharedKey {ACCOUNT}:{base64.b64encode(secret).decode()}"
        url = f"{self.url}/{path}" + (f"?{query.replace(':', '=')}" if query else "")
        urllib.request.urlopen(urllib.request.Request(url, data or None, headers, method="PUT")).close()


@contextmanager
def azurite_server(directory: Path) -> Iterator[Azurite]:
    """A server until the end of the block; skips where npm cannot bring it."""
    program = _installed()
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    log = directory / "azurite.log"
    arguments = ["--blobPort", str(port), "--inMemoryPersistence", "--skipApiVersionCheck", "--disableTelemetry"]
    with log.open("w") as out, subprocess.Popen([program, *arguments], stdout=out, stderr=out, cwd=directory) as server:
        try:
            _wait_for(port)
            yield Azurite(f"http://127.0.0.1:{port}/{ACCOUNT}", log)
        finally:
            server.terminate()


def _installed() -> str:
    """`azurite-blob` of the machine, or installed once for all runs."""
    found = shutil.which("azurite-blob")
    if found:
        return found
    place = Path(tempfile.gettempdir()) / f"tailrace-azurite-{VERSION}"
    program = place / "node_modules" / ".bin" / "azurite-blob"
    with place.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not program.exists():
            with tempfile.TemporaryDirectory(dir=place.parent) as fresh:
                _install(fresh)
                shutil.rmtree(place, ignore_errors=True)
                shutil.move(fresh, place)
                Path(fresh).mkdir()
    return str(program)


def begin(config: pytest.Config) -> None:
    """Installs it while other tests run."""
    process = subprocess.Popen([sys.executable, __file__])
    config.add_cleanup(lambda: process.wait() and None)


def _install(directory: str) -> None:
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip("no npm: Azurite cannot be installed")
    lean = ["--no-audit", "--no-fund", "--no-package-lock", "--ignore-scripts", "--omit=optional", "--fetch-retries=1"]
    command = [npm, "install", f"azurite@{VERSION}", *lean]
    done = subprocess.run(command, cwd=directory, capture_output=True, check=False)
    if done.returncode:
        pytest.skip("npm cannot install Azurite")


def _wait_for(port: int) -> None:
    for _ in range(200):
        with socket.socket() as client:
            if client.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.1)
    raise TimeoutError("Azurite does not start")


if __name__ == "__main__":
    with suppress(pytest.skip.Exception):
        _installed()
