"""moto's server: AWS over HTTP, in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from socket import socket
from typing import Any

PATIENCE = 60.0


@contextmanager
def moto_server() -> Iterator[str]:
    """Its address."""
    with socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    environment = os.environ | {"AWS_DEFAULT_REGION": "eu-west-1"}
    command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]
    quiet = subprocess.DEVNULL
    server = subprocess.Popen(command, env=environment, stdout=quiet, stderr=quiet)
    url = f"http://127.0.0.1:{port}"
    try:
        _wait(url)
        yield url
    finally:
        server.terminate()
        server.wait()


def aws(service: str, url: str) -> Any:
    """A client of that server, for preparing what is to be found."""
    import boto3

    keys = {"aws_access_key_id": "k", "aws_secret_access_key": "s"}
    return boto3.client(service, region_name="eu-west-1", endpoint_url=url, **keys)


def _wait(url: str) -> None:
    until = time.monotonic() + PATIENCE
    while True:
        try:
            with urllib.request.urlopen(f"{url}/moto-api/", timeout=2):
                return
        except OSError:
            if time.monotonic() > until:
                raise
            time.sleep(0.1)
