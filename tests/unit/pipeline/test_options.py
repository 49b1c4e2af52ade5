from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tailrace.core.errors import UsageError
from tailrace.pipeline.options import SessionOptions, parse_conf, settle


def test_defaults_are_local() -> None:
    settings = settle(SessionOptions(), {})
    assert settings.master == settings.conf["spark.master"] == "local[*]"
    assert settings.local
    assert settings.conf["spark.sql.session.timeZone"] == "UTC"
    assert settings.conf["spark.ui.enabled"] == "false"
    assert settings.home == Path.home() / ".tailrace"


def test_flags_win_over_environment() -> None:
    env = {"MASTER": "local[3]", "SPARK_REMOTE": "sc://there", "TAILRACE_HOME": "/h"}
    assert settle(SessionOptions(), env).remote == "sc://there"
    settings = settle(SessionOptions(master="spark://a:7077"), env)
    assert (settings.master, settings.remote, settings.home) == ("spark://a:7077", None, Path("/h"))
    assert settle(SessionOptions(), {"MASTER": "local[3]"}).master == "local[3]"
    assert settle(SessionOptions(conf={"spark.master": "local[1]"}), {"MASTER": "local[3]"}).master == "local[1]"


def test_clusters_keep_their_own_settings() -> None:
    settings = settle(SessionOptions(master="spark://a:7077"), {})
    assert not settings.local
    assert settings.direct
    assert "spark.driver.host" not in settings.conf
    assert not settle(SessionOptions(master="yarn"), {}).direct


@pytest.mark.parametrize(
    ("master", "local"),
    [
        ("local", True),
        ("local[2]", True),
        ("local[*,3]", True),
        ("local-cluster[2,1,1024]", False),
        ("yarn", False),
    ],
)
def test_what_is_local(master: str, local: bool) -> None:
    assert settle(SessionOptions(master=master), {}).local is local


def test_remote_gets_no_settings_of_ours() -> None:
    conf = settle(SessionOptions(remote="sc://x:15002", conf={"spark.a": "b"}), {}).conf
    assert conf == {"spark.sql.session.timeZone": "UTC", "spark.a": "b", "spark.remote": "sc://x:15002"}


def test_master_and_remote_exclude_each_other() -> None:
    with pytest.raises(UsageError, match="exclude"):
        settle(SessionOptions(master="local", remote="sc://x"), {})


def test_spark_defaults_lie_between_ours_and_flags(tmp_path: Path) -> None:
    (tmp_path / "spark-defaults.conf").write_text(
        "# comment\nspark.ui.enabled   true\nspark.driver.memory=3g\nspark.a: one two \n\n"
    )
    env = {"SPARK_CONF_DIR": str(tmp_path)}
    settings = settle(SessionOptions(conf={"spark.driver.memory": "4g"}), env)
    assert settings.conf["spark.ui.enabled"] == "true"
    assert settings.conf["spark.driver.memory"] == "4g"
    assert settings.conf["spark.a"] == "one two"
    assert settings.direct
    (tmp_path / "spark-env.sh").touch()
    assert not settle(SessionOptions(), env).direct


def test_spark_variables() -> None:
    conf = settle(SessionOptions(), {"SPARK_DRIVER_MEMORY": "3g", "SPARK_LOCAL_IP": "10.0.0.1"}).conf
    assert conf["spark.driver.memory"] == "3g"
    assert "spark.driver.host" not in conf


@given(key=st.from_regex(r"spark\.[a-z.]{1,20}", fullmatch=True), value=st.text())
def test_conf_pairs_pass_untouched(key: str, value: str) -> None:
    assert parse_conf((f"{key}={value}",)) == {key: value}


@pytest.mark.parametrize("pair", ["spark.a", "a=b", "=x", ""])
def test_conf_that_is_none(pair: str) -> None:
    with pytest.raises(UsageError):
        parse_conf((pair,))
