"""The class-data archive with a real JVM: made once, used, and no obstacle when it is damaged."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tailrace.pipeline.archive import Archive
from tailrace.pipeline.java import Java, find_java
from tailrace.pipeline.jvm import LEAN, MODULES

PROGRAM = """
import sys
from pathlib import Path
from tailrace.pipeline.session import SessionOptions, session
home = Path(sys.argv[1])
conf = {"spark.driver.extraJavaOptions": f"-Xlog:class+load:file={home}/classes.log"}
with session(SessionOptions("local[1]", home=home, conf=conf)) as spark:
    print(spark.range(3).count())
"""


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


def archives(cache: Path) -> list[Path]:
    return [path for path in (cache / "classes").iterdir() if path.suffix in (".jsa", ".aot")]


def run(cache: Path, *command: str) -> str:
    env = {**os.environ, "TAILRACE_CACHE_DIR": str(cache), "TAILRACE_ARCHIVE": "off"}
    done = subprocess.run([sys.executable, *command], env=env, capture_output=True, text=True, timeout=600)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def classes_from_archive(home: Path) -> int:
    return (home / "classes.log").read_text().count("shared objects file")


def javas() -> list[Java]:
    """The one that is found, and the wheel that a machine without Java falls back on."""
    return list({java.home: java for java in (find_java(), find_java(None, {}))}.values())


@pytest.mark.parametrize("java", javas(), ids=lambda java: f"{java.origin}-{java.version}")
def test_java_takes_the_options_that_make_and_use_it(java: Java, tmp_path: Path) -> None:
    """JVMs refuse to start on options that exclude each other, and not all of them on the same ones."""
    draft = tmp_path / "draft"
    archive = Archive(java, draft)
    for extra in (archive.dump_options(draft), archive.options()):
        command = [java.executable, *MODULES, *LEAN, *extra, "-version"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stderr + done.stdout
    assert draft.exists()


def test_archive_is_made_and_used(cache: Path, tmp_path: Path) -> None:
    assert run(cache, "-c", PROGRAM, str(tmp_path)) == "3\n"
    without = classes_from_archive(tmp_path)
    run(cache, "-c", "from tailrace.pipeline.training import train; train()")
    assert len(archives(cache)) == 1
    assert not list((cache / "classes").glob("*.part*"))
    assert run(cache, "-c", PROGRAM, str(tmp_path)) == "3\n"
    assert classes_from_archive(tmp_path) > without + 5000


@pytest.mark.parametrize("damage", ["cut", "scribble"])
def test_damaged_archive_is_no_obstacle(cache: Path, tmp_path: Path, damage: str) -> None:
    own = tmp_path / "cache"
    shutil.copytree(cache, own)
    [archive] = archives(own)
    archive.chmod(0o644)
    with archive.open("r+b") as file:
        if damage == "cut":
            file.truncate(archive.stat().st_size // 2)
        else:
            file.write(b"\xff" * 4096)
    assert run(own, "-c", PROGRAM, str(tmp_path)) == "3\n"
