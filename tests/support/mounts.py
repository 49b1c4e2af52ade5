"""File systems of their own: small, full, or not to be written. Where nobody may mount one the test is skipped."""

from __future__ import annotations

import os
import resource
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest


@contextmanager
def mounted(place: Path, *how: str) -> Iterator[Path]:
    """What `mount` is told to put there."""
    place.mkdir(parents=True, exist_ok=True)
    command = ["mount", *how, str(place)]
    if os.geteuid() != 0 or subprocess.run(command, capture_output=True, check=False).returncode != 0:
        pytest.skip("only root can mount a file system")
    try:
        yield place
    finally:
        subprocess.run(["umount", "-l", str(place)], check=True)


@contextmanager
def small_disk(place: Path, size: str = "16m") -> Iterator[Path]:
    with mounted(place, "-t", "tmpfs", "-o", f"size={size}", "tailrace-test"):
        yield place


@contextmanager
def second_view(place: Path, of: Path) -> Iterator[Path]:
    """The same files again, to be read only."""
    with mounted(place, "--bind", str(of)):
        remount(place, "ro,bind")
        yield place


def remount(place: Path, how: str) -> None:
    """`ro`, or `rw` again."""
    subprocess.run(["mount", "-o", f"remount,{how}", str(place)], check=True)


def fill(place: Path) -> Path:
    """A file that takes all the room there is; a disk is filled in small pieces, so that not a byte is left."""
    ballast = place / "ballast"
    with ballast.open("wb", buffering=0) as file, suppress(OSError):
        while True:
            file.write(bytes(4096))
    return ballast


@contextmanager
def no_larger_files(size: int = 0) -> Iterator[None]:
    """Nothing that this process writes gets more bytes: that stands for a full disk, and anybody may do it."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
