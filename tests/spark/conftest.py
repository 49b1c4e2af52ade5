"""One Spark session for all tests in here: starting it is most of their time."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SOURCE = str(Path(__file__).parents[2] / "src")


@pytest.fixture(scope="session", autouse=True)
def spark_environment(class_archive: dict[str, str]) -> Iterator[None]:
    """Workers find the package in a plain checkout too; no test starts a training run behind our back."""
    patch = pytest.MonkeyPatch()
    for name, value in class_archive.items():
        patch.setenv(name, value)
    patch.setenv("PYTHONPATH", os.pathsep.join(filter(None, [SOURCE, os.environ.get("PYTHONPATH")])))
    yield
    patch.undo()


@pytest.fixture(scope="session")
def spark_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("home")


@pytest.fixture(scope="session")
def spark(spark_environment: None, spark_home: Path) -> Iterator[SparkSession]:
    from tailrace.pipeline.session import SessionOptions, session

    with session(SessionOptions(master="local[2]", home=spark_home, shared=True)) as opened:
        yield opened
