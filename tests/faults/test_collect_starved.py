"""A collect whose helpers are killed or whose disk is full: said clearly, nothing half visible, made whole later."""

from __future__ import annotations

import os
import random
import signal
from collections.abc import Iterator
from datetime import date
from pathlib import Path

import mounts
import pytest
from commandline import Home, ended, killed_afterwards, wait_for
from lakecheck import check, stored
from logfiles import access_lines, write
from mounts import fill

DAY = date(2024, 5, 1)
LINES = 150_000
CONFIG = """
partition "apache_access_log" "small" {
  source "file" { paths = ["LOGS/small.log"] }
}
partition "nginx_access_log" "large" {
  source "file" { paths = ["LOGS/large.log"] }
}
"""


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file that keeps a worker busy for a while, and a small one."""
    directory = tmp_path_factory.mktemp("logs")
    write(directory / "small.log", access_lines(DAY, 10))
    chance = random.Random(1)
    lines = access_lines(DAY, LINES).replace("/page/", "/p/NONCE/").splitlines(keepends=True)
    text = "".join(line.replace("NONCE", f"{chance.getrandbits(256):x}") for line in lines)
    write(directory / "large.log", text)
    return directory


@pytest.fixture
def home(home: Home, logs: Path) -> Home:
    home.configure(CONFIG.replace("LOGS", str(logs)))
    return home


def assert_completes(world, home: Home) -> None:
    assert all(report.clean for report in world.collect())
    rows = stored(home.path)
    assert rows.total() == len(rows) == LINES + 10
    check(home.path, "apache_access_log", "small")
    check(home.path, "nginx_access_log", "large")


def test_a_worker_is_killed(home, world, logs):
    workers: list[int] = []
    with killed_afterwards(home.start("collect", "large")) as process:
        wait_for(lambda: workers.extend(home.readers(logs / "large.log")) or workers or process.poll() is not None)
        for worker in workers:
            os.kill(worker, signal.SIGKILL)
        done = ended(process)
    assert done.code == 5, done
    assert "a worker process was killed or crashed" in done.err
    assert "rolled back" in done.err
    assert "Traceback" not in done.err
    assert "Exception" not in done.err
    assert stored(home.path).total() == 0
    assert_completes(world, home)


def test_the_jvm_is_killed(home, world, logs):
    readers: list[int] = []
    with killed_afterwards(home.start("collect")) as process:
        wait_for(lambda: readers.extend(home.readers(logs / "large.log")) or readers or process.poll() is not None)
        # It must not be done before the JVM is found among all processes.
        for reader in readers:
            os.kill(reader, signal.SIGSTOP)
        os.kill(home.jvm(), signal.SIGKILL)
        for reader in readers:
            os.kill(reader, signal.SIGCONT)
        done = ended(process)
    assert done.code == 5, done
    assert "Spark's JVM was killed or crashed" in done.err
    assert "Traceback" not in done.err
    assert "py4j" not in done.err.lower()
    home.assert_no_process_is_left()
    assert_completes(world, home)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A home on a file system of 16 MB."""
    with mounts.small_disk(tmp_path / "home") as place:
        yield place


def test_the_disk_is_full(small_disk, home, world):
    ballast = small_disk / "ballast"
    ballast.write_bytes(bytes(14 << 20))
    done = home.run("collect")
    assert done.code == 5, done
    assert "No space left on device" in done.err
    assert "nginx_access_log.large" in done.err
    assert "Traceback" not in done.err
    home.assert_no_process_is_left()
    assert stored(home.path).total() == 10, "the small partition was stored, nothing of the large one"
    assert sum(p.stat().st_size for p in (small_disk / "data").rglob("*.parquet")) < 1 << 20
    ballast.unlink()
    assert_completes(world, home)


def test_not_a_byte_is_left(small_disk, home, world):
    ballast = fill(small_disk)
    done = home.run("collect")
    assert done.code == 5, done
    assert "No space left on device" in done.err
    assert all(name in done.err for name in ("nginx_access_log.large", "apache_access_log.small")), done.err
    assert "Traceback" not in done.err
    home.assert_no_process_is_left()
    ballast.unlink()
    assert_completes(world, home)


@pytest.mark.parametrize("room", [4, 20, 28, 60, 100, 124, 132, 140])
def test_any_amount_of_room(small_disk, world, tmp_path, room):
    """So many kilobytes are left: the table, the data, the intent or the commit does not fit."""
    for number in (1, 2, 3):
        write(tmp_path / "logs" / f"{number}.log", access_lines(date(2024, 5, number), 2000) + "bad\n")
    world.write_config(f'partition "nginx_access_log" "web" {{\n source "file" {{ paths = ["{tmp_path}/logs"] }}\n}}')
    free = os.statvfs(small_disk).f_bavail * os.statvfs(small_disk).f_frsize
    ballast = write(small_disk / "ballast", "x" * (free - room * 1024))
    (report,) = world.collect()
    said = [str(report.error), *(trouble.message for trouble in report.troubles)]
    assert report.clean == (not any("No space left on device" in text for text in said))
    assert not any("\n" in text or "\x1b" in text for text in said)
    places = [str(report.error), *(trouble.where for trouble in report.troubles)]
    assert all("nginx_access_log" in place for place in places if place != "None"), places
    assert not report.clean or room > 60, "how much fits depends on the engines; so little cannot"
    assert stored(world.home).total() == (6000 if report.clean else 0)
    ballast.unlink()
    (report,) = world.collect()
    assert report.clean
    assert stored(world.home).total() == 6000
    check(world.home, "nginx_access_log", "web")
