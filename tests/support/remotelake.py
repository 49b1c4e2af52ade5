"""A lake in a bucket of moto's server."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from azuriteserver import ACCOUNT, Azurite

from tailrace.clouds import azure, gcs
from tailrace.clouds.container import Container
from tailrace.clouds.settings import Settings
from tailrace.config.values import Secret
from tailrace.lake.object_place import ObjectPlace
from tailrace.lake.paths import Lake

BUCKET = "lake"
ACCESS_KEY = "AKIALAKEOWNER"
SECRET_KEY = "never-to-be-shown"
CONNECTION = """
connection "aws" "test" {{
  access_key   = "{key}"
  secret_key   = "{secret}"
  region       = "us-east-1"
  endpoint_url = "{url}"
  {more}
}}
"""


def connection(url: str, **more: int) -> str:
    """The block that reaches that server with keys; `more` are numbers in it."""
    told = "\n  ".join(f"{name} = {value}" for name, value in more.items())
    return CONNECTION.format(key=ACCESS_KEY, secret=SECRET_KEY, url=url, more=told)


def bucket_place(url: str, prefix: str = "some/where", bucket: str = BUCKET, **more: object) -> ObjectPlace:
    """A place in a bucket of that server, reached with keys; `more` are settings of the connection."""
    given = (
        ("access_key", ACCESS_KEY),
        ("secret_key", Secret(SECRET_KEY)),
        ("region", "us-east-1"),
        ("endpoint_url", url),
        *more.items(),
    )
    return ObjectPlace(Container("s3", bucket, Settings("aws", "test", given)), prefix)


def google_place(url: str, prefix: str, monkeypatch: pytest.MonkeyPatch) -> ObjectPlace:
    """A place in the only bucket of a server that speaks Google's protocol."""
    gcs.store.cache_clear()
    monkeypatch.setenv("STORAGE_EMULATOR_HOST", url)
    account = {"gcs_base_url": url, "disable_oauth": True, "client_email": "", "private_key": SECRET_KEY}
    key = Secret(json.dumps(account | {"private_key_id": ACCESS_KEY}))
    return ObjectPlace(Container("gs", BUCKET, Settings("gcp", "test", (("credentials", key),))), prefix)


def azure_place(server: Azurite, prefix: str, monkeypatch: pytest.MonkeyPatch) -> ObjectPlace:
    azure.store.cache_clear()
    monkeypatch.setenv("AZURE_STORAGE_CONNECTION_STRING", server.connection_string)
    return ObjectPlace(Container("az", f"{ACCOUNT}/{BUCKET}", Settings("azure", "test")), prefix)


def remote_lake(home: Path, url: str, prefix: str = "some/where") -> Lake:
    return Lake(home, "default", bucket_place(url, prefix))


@dataclass(frozen=True)
class MotoProcess:
    """A server in a process of its own, because delta-rs lets no other thread run while it asks; requests are noted."""

    url: str
    log: Path

    def requests(self, since: int = 0) -> list[tuple[str, str, dict[str, str]]]:
        """Method, path and parameters of all but the first so many."""
        # The server may be writing the last line: where it crosses a page, half of it can be seen.
        whole = self.log.read_text().rpartition("\n")[0]
        return [tuple(json.loads(line)) for line in whole.splitlines()[since:]]  # type: ignore[misc]

    def files_read(self, since: int = 0) -> list[str]:
        """Paths of data files that were fetched."""
        return [path for method, path, _ in self.requests(since) if method == "GET" and path.endswith(".parquet")]

    def forget(self) -> int:
        """How many requests there were so far."""
        return len(self.requests())


@contextmanager
def moto_process(log: Path, *buckets: str) -> Iterator[MotoProcess]:
    """moto with empty buckets, until the end of the block."""
    with _process("s3", str(log), *buckets) as url:
        yield MotoProcess(url, log)


@contextmanager
def google_process() -> Iterator[str]:
    """A server that speaks Google's protocol, with one bucket, until the end of the block: its URL."""
    with _process("gs") as url:
        yield url


@contextmanager
def _process(*arguments: str) -> Iterator[str]:
    command = [sys.executable, __file__, *arguments]
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parent)}
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment) as server:
        assert server.stdin
        assert server.stdout
        try:
            yield server.stdout.readline().strip()
        finally:
            server.stdin.close()


def _serve_google() -> None:
    from bucketserver import serving
    from writablebucket import WritableBucket

    with serving(WritableBucket({})) as server:
        print(server.url, flush=True)
        sys.stdin.read()


def _serve_s3(log: str, *buckets: str) -> None:
    from motobuckets import moto_buckets

    with open(log, "w", buffering=1) as out, moto_buckets() as moto:
        for name in buckets:
            moto.bucket(name, {})
        moto.note = lambda request: print(json.dumps(request), file=out)
        print(moto.url, flush=True)
        sys.stdin.read()  # until whoever started it is gone


if __name__ == "__main__":
    (_serve_google if sys.argv[1] == "gs" else _serve_s3)(*sys.argv[2:])
