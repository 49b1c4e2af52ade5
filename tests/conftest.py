"""What all tests share: a small world with a home of its own, and the real logs where they are present."""

from __future__ import annotations

import ast
import errno
import gc
import os
import socket
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import azuriteserver
import classarchive
import pytest
from commandline import Home
from hypothesis import settings
from world import World

# A busy machine is no failure: how long an example takes is not what these tests are about.
# CI tries the same examples every time: what is new is found where somebody can look at it.
# TAILRACE_EXAMPLES=1000 tries more.
EXAMPLES = int(os.environ.get("TAILRACE_EXAMPLES", 20))
settings.register_profile("tailrace", deadline=None, max_examples=EXAMPLES, derandomize="CI" in os.environ)
settings.load_profile("tailrace")

# Thousands of collected tests stay to the end: the garbage collector need not look at them again and again.
gc.disable()

# Credentials of the machine that runs the tests are none of their business.
os.environ["AWS_EC2_METADATA_DISABLED"] = "true"

LONGEST = ("unit/pipeline", "faults", "e2e", "spark", "unit/query", "contract")
"""Below here, those first that take longest for a file: at the end no process should have to wait for another.

Before them come tests that need no JVM: meanwhile the class archive is made.
"""
LATER = {"unit/pipeline/test_remote_lake.py": "contract"}
"By then Azurite is there."
AZURE = ("test_remote_lake.py", "test_azure_blob_storage.py", "test_place.py")
"Files whose tests need it."


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Longest files first; within a file the order stays."""
    tests = Path(__file__).parent

    def place(item: pytest.Item) -> int:
        name = item.path.relative_to(tests).as_posix() if item.path.is_relative_to(tests) else ""
        name = f"{LATER[name]}/" if name in LATER else name
        return next((n for n, first in enumerate(LONGEST) if name.startswith(f"{first}/")), len(LONGEST))

    items.sort(key=place)


def _parsed_one_by_one() -> None:
    """CPython 3.11 counts the depth of all syntax trees in one place: two threads that parse upset each other's count.

    `SystemError: AST constructor recursion depth mismatch` then comes from wherever a traceback is printed.
    """
    parse, lock = ast.parse, threading.RLock()

    def alone(*args: Any, **more: Any) -> ast.AST:
        with lock:
            return parse(*args, **more)

    ast.parse = alone  # type: ignore[assignment]


if sys.version_info < (3, 12):
    _parsed_one_by_one()


@pytest.fixture(autouse=True)
def only_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """A test talks to servers that it has started itself, and to no other."""
    connect = socket.socket.connect

    def guarded(self: socket.socket, address: object) -> None:
        host = address[0] if isinstance(address, tuple) else ""
        if self.family in (socket.AF_INET, socket.AF_INET6) and not str(host).startswith(("127.", "::1", "localhost")):
            raise OSError(errno.ENETUNREACH, f"a test wants to reach {host}")
        connect(self, address)  # type: ignore[arg-type]

    monkeypatch.setattr(socket.socket, "connect", guarded)


@pytest.fixture
def real_logs() -> Path:
    """Real logs, beside the repository or where TAILRACE_TEST_DATA says."""
    default = Path(__file__).parents[2] / "shared" / "data"
    found = Path(os.environ.get("TAILRACE_TEST_DATA", default))
    if not found.is_dir():
        pytest.skip("no real logs on this machine")
    return found


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path / "home")


def pytest_unconfigure() -> None:
    gc.unfreeze()


def pytest_collection_finish(session: pytest.Session) -> None:
    gc.enable()
    gc.freeze()
    if any("class_archive" in getattr(item, "fixturenames", ()) for item in session.items):
        classarchive.begin(session.config)
    if any(item.path.name in AZURE for item in session.items) and os.environ.get("PYTEST_XDIST_WORKER", "gw0") == "gw0":
        azuriteserver.begin(session.config)


@pytest.fixture(scope="session")
def class_archive(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Environment in which the JVM starts fast."""
    return classarchive.environment(tmp_path_factory)


@pytest.fixture(scope="session")
def warm_jvm(class_archive: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """Environment of commands that share one JVM, as `spark-submit` gives it; at most one of them at a time."""
    from tailrace.pipeline.jvm import Driver
    from tailrace.pipeline.options import SessionOptions, settle

    home = Home(tmp_path_factory.mktemp("warm"), class_archive)
    with pytest.MonkeyPatch.context() as patch:
        for name, value in home.environment().items():
            patch.setenv(name, value)
        driver = Driver.launch(settle(SessionOptions("local[2]", home=home.path)))
    gateway = driver.join()
    yield {"PYSPARK_GATEWAY_PORT": str(gateway.port), "PYSPARK_GATEWAY_SECRET": gateway.secret}
    driver.close(patience=20)


@pytest.fixture
def home(tmp_path: Path, class_archive: dict[str, str], request: pytest.FixtureRequest) -> Home:
    """A home for the real command line."""
    warm = request.node.get_closest_marker("warm") is not None
    return Home(tmp_path / "home", class_archive | (request.getfixturevalue("warm_jvm") if warm else {}))
